-- The whole privilege state. The schema belongs to its owner; nobody else gets in unless the owner
-- says so, and SECURITY DEFINER functions are closed even then.
revoke all on schema sherlock from public;
do $$
declare
    v_function regprocedure;
begin
    for v_function in
        select p.oid::regprocedure
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'sherlock'::regnamespace and p.prosecdef
    loop
        execute format('revoke all on function %s from public', v_function);
    end loop;
end;
$$;
