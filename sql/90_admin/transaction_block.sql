-- Procedures that commit as they go say so at once when they are called in a transaction block.

-- Always the same error, because a function can never commit; its text in the server's language.
create or replace function sherlock._commit_refusal()
returns text
language plpgsql stable
as $$
declare
    v_message text;
begin
    begin
        commit;
    exception when invalid_transaction_termination then
        get stacked diagnostics v_message = message_text;
    end;
    return v_message;
end;
$$;

-- Both tries are refused, for they stand in a block with an exception clause, but by another text
-- where the caller could not commit either.
create or replace procedure sherlock._refuse_transaction_block(p_procedure text)
language plpgsql
as $$
declare
    v_message text;
begin
    begin
        commit;
    exception when invalid_transaction_termination then
        get stacked diagnostics v_message = message_text;
    end;
    if v_message = sherlock._commit_refusal() then
        raise exception using
            errcode = 'invalid_transaction_termination',
            message = format('%s commits as it goes, so it cannot run in a transaction block',
                             p_procedure),
            hint = 'call it by itself: without begin, and where the client begins transactions of '
                   'its own accord with autocommit on';
    end if;
end;
$$;
