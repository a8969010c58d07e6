"""From a raw span to the span of a name: titles off the left, circumstances off the right."""

from __future__ import annotations

import re

from sherlock_pg.ner.lexicon import INITIALS, INSTITUTION, PLAINTIFF

Span = tuple[int, int]

_TITLE = (
    r"(?:SENOR(?:ES|AS|A)?|SRES|SRA?S?|DON|DONA|DRA?S?|DOCTOR(?:ES|AS|A)?|CIUDADAN[OA]S?"
    r"|ABOGAD[OA]S?"
    r"|(?:(?:MI|SU)\s+)?MENOR(?:ES)?(?:\s+DE\s+EDAD)?|(?:LOS\s+|LAS\s+)?NIN[OA]S?|JOVEN(?:ES)?"
    r"|ADOLESCENTES?|PATRULLER[OA]|INTENDENTE|SOLDADO|SARGENTO|CAPITAN|ING(?:ENIER[OA])?|LIC"
    r"|PROFESOR[A]?"
    r"|INTERN[OA]|PPL)(?![A-Z])\.?:?"
)
_LEFT = re.compile(
    r"(?:"
    r"[\s:;,.\-*|\"'()=/]+"
    r"|(?:\(?\d{1,2}\s?[.)°\-]+|\(?[A-H]\))\s*|\(?I{1,3}V?[.)]\s+"
    r"|(?:NOMBRES?(?:\s+Y\s+APELLIDOS)?(?:\s+COMPLETOS?)?|RAZON\s+SOCIAL|ENTIDAD)\s*:"
    r"|(?:EL\s+|LA\s+|LOS\s+|LAS\s+|DEL\s+|AL\s+|DE\s+LA\s+|DE\s+LOS\s+|A\s+LA\s+)?"
    rf"(?:{_TITLE}\s+)(?!DE\s|DEL\s)"
    r"|(?:Y|E|A|ENTRE|AMBOS|YO|NOSOTR[OA]S|LOS\s+SUSCRITOS|EL\s+SUSCRITO|LA\s+SUSCRITA"
    r"|SUSCRIT[OA])[\s,:]+"
    r"|(?:EN\s+)?CONTRA(?:\s+DEL?)?\s+"
    r"|(?:FRENTE\s+)?(?:EL|LA|LOS|LAS|DEL|AL)\s+(?!NACION\b|PREVISORA|EQUIDAD|DORADA|GUAJIRA"
    r"|CRUZ\b)"
    r"|(?:A|DE)\s+(?:LA|LOS|LAS)\s+"
    r"|(?:ACCION|SOLICITUD|DEMANDA)\s+DE\s+TUTELA\s+[A-Z]{5,14}\s+POR\s+"
    rf"|(?:PARTE\s+)?{PLAINTIFF}\s*:\s*"
    r")"
)
_LEGAL_WRAPPER = re.compile(
    r"(?:LA|LAS|A\s+LA|DE\s+LA)\s+(?:SOCIEDAD(?:\s+COMERCIAL)?|EMPRESA|FIRMA|COMPANIA|ENTIDAD"
    r"|EPS\s+DENOMINADA)"
    r"\s+(?=[A-Z\"])(?!DE\s|DEL\s|SOCIAL|PROMOTORA|PUBLICA|ADMINISTRADORA|INDUSTRIAL|PRESTADORA"
    r"|COLOMBIANA"
    r"|ACCIONAD|DEMANDAD|TERRITORIAL|BANCARIA|NACIONAL)\"?"
)
_CUE_WORDS = (
    r"EN\s+(?:MI|SUS?|NUESTR[OA]|NOMBRE|REPRESENTACION|CALI?DAD|CONDICION|CAUSA\s+PROPIA|EJERCICIO"
    r"|LA\s+QUE|EL\s+QUE|EL\s+(?:PROCESO|MARCO|TRAMITE)|CABEZA|PROCURA|DEFENSA\s+DE|VIRTUD|RELACION"
    r"|RAZON|ARAS|CONTRA|TANTO|ATENCION|BUSCA|AMPARO|FAVOR|CONJUNTO\s+CON|LIBERTAD|PRO\s+DE"
    r"|PROTECCION\s+DE|TORNO|L[OA]S\s+SIGUIENTES|LOS\s+TERMINOS)"
    r"|CON\s+(?:C\.?\s?C|C\.?\s?E|T\.?\s?I|CEDULAS?|NIT|N\.I\.T|DOMICILIO|EL|DOCUMENTO"
    r"|IDENTIFICACION"
    r"|NUMEROS?|RADICAD[OA]|RADICACION|OCASION|BASE|MIRAS|FUNDAMENTO|TARJETA|REGISTRO|SEDE"
    r"|PASAPORTE"
    r"|PPT|PERMISO|CORREO|FECHA|TODO|VINCULACION|CITACION|RESIDENCIA)"
    r"|A\s+(?:TRAVES|FAVOR|FIN|FINES|EFECTOS|CUY[OA]|QUIEN(?:ES)?|ORDENES|RAIZ|CAUSA|CARGO)"
    r"|AL\s+(?:CONSIDERAR|NO|QUE|IGUAL|HABER|ESTIMAR|CUAL)"
    r"|PARA\s+(?:QUE|LA\s+PROTECCION|EL\s+AMPARO|SU|MI|OBTENER|LOGRAR|SOLICITAR|PROTEGER|EXIGIR"
    r"|PEDIR|RECLAMAR|OBTENGA)"
    r"|DE\s+(?:CONFORMIDAD|ACUERDO|EST[AE]|ES[AE]|LA\s+MISMA|FECHA|GENERO|NOTAS|CONDICIONES"
    r"|NACIONALIDAD|MANERA|SU|MI|CARACTER)"
    r"|Y/O\s+(?:QUIEN|SU|REPRESENTANTE)|Y\s+(?:OTR[OA]S?|DEMAS|COMO|SE|MI|SU\s+(?:HIJ[OA]S?"
    r"|ESPOS[OA]"
    r"|MENOR(?:ES)?|NUCLEO)|EN)|ENTRE\s+OTR[OA]S|E\s+HIJ[OA]S|ETC"
    r"|MAYOR(?:ES)?\s+(?:DE\s+EDAD|Y)|MENOR(?:ES)?\s+DE\s+EDAD|QUIEN(?:ES)?|QUE|CUY[OA]S?|DONDE"
    r"|ACTUANDO|OBRANDO|ACTUA|OBRA|OBRO|ACTUO|ACTUAMOS|TRAMITE|ANTE|MEDIANTE|PORQUE|XQ|POR|SEGUN"
    r"|DEBIDO\s+A|DENTRO\s+DE|DESDE|TODA\s+VEZ|YA\s+QUE|PERO|COMO|RESPECTO|FRENTE\s+A|DURANTE|HASTA"
    r"|CONTRA|VS|NIT|NIP|NUIP|PPT|PASAPORTE|CEDULAS?|CC$|RECIB[EOI]|PID[EIO]|FUE(?:RON)?|TENGO"
    r"|VENGO"
    r"|VENIMOS|ACUD[EIO]|INCO[AEO]|DEMAND[AEO]|PRESENT[AEO]|FORMUL[AEO]|SOLICIT[AEO]|PUES"
    r"|DADO\s+QUE|ALEGA|ALEGANDO|SOLICITANDO|BUSCANDO|PRETENDIENDO|AUNQUE|CUANDO|MIENTRAS|LUEGO"
    r"|AHORA"
    r"|SOLTER[OA]"
    r"|CASAD[OA]|TEL(?:EFONO)?|CEL(?:ULAR)?|EXPEDID[OA]|EXPEDIENTE|TITULAR(?:ES)?\s+DE|NATURAL\s+DE"
    r"|SE\s+(?:LE|HAN?)|(?:QUE\s+SE\s+)?ENCUENTRA"
)
_CUE_STEMS = (
    r"IDENTIFICA(?:D|BLE|MOS)|IDENTIFICO|CEDULAD[OA]|PORTADOR|REPRESENTAD[OA]|PRESUNT[OA]"
    r"|RADICA(?:D[OA]|CION)"
    r"|PERSONAS?\s+(?:JURIDICA|NATURAL)|CORREOS?\s*(?:ELECTR|:)|E-?MAIL|MOVIL\s*:|DIRECCION\s*:"
    r"|NOTIFICACION(?:ES)?\s+(?:EN|A)\s|NOTIFICAD[OA]|DOMICILIAD[OA]|RESIDENTES?\s|RESIDENCIAD[OA]"
    r"|VECIN[OA]S?\s|PRIVAD[OA]S?\s+DE|RECLUID[OA]|DETENID[OA]|CAPTURAD[OA]|VINCULAD[OA]"
    r"|FALLECID[OA]"
    r"|SE\s+(?:VINCUL|PROFIER|ORDEN|ENCUENTR|DECID|RESUELV|DISPUS)|Q\.?\s?E\.?\s?P\.?\s?D"
    r"|CIUDADAN[OA]S?\s+(?:COLOMB|EN\s|MAYOR|CON\s|VENEZ)|INTERPON|INTERPUS|INSTAUR|PROMUEV|PROMOVI"
    r"|MANIFIEST|COMPAREC|COMPAREZ|PRETEND[EIO]|INVOC[AOO]|DIRIJO|AFIRM[AO]|SOSTUVO|EXPUS"
    r"|RECLAM[AO]"
    r"|ACTUALMENTE|CONSISTENTE|INFORMANDO|RELACIONAD[OA]|AFILIAD[OA]|OTORG[AOU]|CONFIER|ADMITID[OA]"
    r"|TARJETA\s+(?:DE\s+IDENT|PROF)|DOCUMENTO\s+DE|REGISTRO\s+CIVIL"
    r"|C\.\s?C|C\.?C\.?\s*(?:N|\#|\d|:|\.)|T\.I|TI\s*[.:]?\s*\d|N\.I\.T|T\.D\.|TD\s\d|N\.U\.I"
    r"|NUI\s|PATIO\s|PABELLON\s|T\.\s?P\.|D\.I\."
)
_AFTER_COMMA = (
    r"(?:ABOGAD[OA]|APODERAD[OA]|DEFENSORA?|PPL|INTERN[OA]|PERSONER[OA]|ALCALDE|ALCALDESA|GERENTE|DIRECTORA?|LIDER"
    r"|LIDERESA|EMPLEAD[OA]|PENSIONAD[OA]|MADRE|PADRE|HIJ[OA]S?|ESTUDIANTE|SUBSIDIARIAMENTE|HOY"
    r"|ANTES"
    r"|SECRETARI[OA]\s+DE\s+DESPACHO|CALLE|CARRERA|CRA|CL|KR|REPARTO|E\.?\s?S\.?\s?D|AGENTE"
    r"|CIUDADAN[OA]S?|COLOMBIAN[OA]S?|VENEZOLAN[OA]S?|EXTRANJER[OA]|CAMPESIN[OA]|INDIGENA|VARON"
    r"|MUJER"
    r"|ADULT[OA]|COMERCIANTE|DOCENTE|DOCTORA?|DRA?|SENORA?|INGENIER[OA])(?![A-Z])"
)
_RIGHT = re.compile(
    rf"\s*[,;(\-*/\"]*\s*(?<![A-Z])(?:(?:{_CUE_WORDS})(?![A-Z])|{_CUE_STEMS})"
    rf"|\s*[,;(\-]\s*{_AFTER_COMMA}"
    r"|\s+(?:ABOGAD[OA]\b|APODERAD[OA]|AGENTE\s+OFIC|DEFENSORA?\s+(?:DE\s+CONF|PUBL))"
    r"|\s*[,;]?\s*(?<![A-Z])(?:CALLE|CARRERA|CRA|CLL|TRANSVERSAL|DIAGONAL|AVENIDA|AV"
    r"|KM)\.?\s{1,3}\d"
    r"|\s*\((?:REPARTO|MENOR|HIJ|MADRE|PADRE|ACCION|DEMAND|EN\s|POR\s|V\.|FL|FOLIO|QEPD|Q\.)"
    r"|\s*_{2,}|\s*[,(:]?\s*\#?\d[\d.' ]{5,30}\d|[\s(,:<]+[A-Z0-9._%+\-]{1,64}\s?@"
)
_SENTENCE_AFTER_ABBREVIATION = re.compile(
    r"(?<=\.)\s+(?=(?:EL|LA|LOS|LAS|SE|EN(?!\s+(?:LIQUIDACION|REORGANIZACION|INTERVENCION))|ES|LO"
    r"|MI|CON|DICHA|ESTA|HECHOS|SENOR|ASUNTO|REF(?:ERENCIA)?|RAD(?:ICAD[OA]|ICACION)?|PROCESO"
    r"|DERECHOS|ACCIONAD[OA]S?|ACCIONANTES?|DEMANDAD[OA]S?|DEMANDANTES?|VINCULAD[OA]S?|MAGISTRAD[OA]|I\.|II\."
    r"|\d)(?![A-Z])"
    r"|[A-Z][A-Z ]{2,30},\s+\d{1,2}\s+DE\s)"
)
_PLACEHOLDER = re.compile(
    r"_{2,}|(?<![A-Z])X{3,}|[<>\[\]{}#]|SU\s+NOMBRE|NOMBRE\s+COMPLETO|NOMBRES\s+Y\s+APELLIDOS"
    r"|ESCRIB[AE]|INSERT[AE]\s"
    r"|\d{1,2}\s+DE\s+[A-Z]{4,10}\s+DEL?\s+\d{4}|\.{4,}|…|(?<![A-Z])N\.?N\.?(?![A-Z])|FULANO|DILIGENCI"
)
_NOT_A_NAME = re.compile(
    r"(?:LA\s+|EL\s+)?(?:FALLO|SENTENCIA|PROVIDENCIA|DECISION|RESOLUCION|ACTOS?|OFICIO|COMPARENDO"
    r"|AUTO)"
    r"(?![A-Z]|\s?PARTES)"
    r"|(?:LEGAL\s+DE|DERECHOS?|VIOLACION|VULNERACION|EST[AE]|ES[AE]|DICH[OA]S?|MISM[OA]S?"
    r"|LEGITIMACION"
    r"|PARA|POR|QUE|ANTE|COMO|MIS?|SUS?|ELL[OA]S?|TOD[OA]S?|QUIEN(?:ES)?|PARTES?|PERSONAS?|PARTICULAR(?:ES)?|TUTELA|LEY"
    r"|DECRETO"
    r"|ACCION(?!\s+SOCIAL)|ABUSO|ARTICULO|DISPOSICION(?:ES)?|NUEVAMENTE|UN|UNA|AQUEL(?:LA)?"
    r"|CUALQUIER"
    r"|DELITO|VIOLENCIA|SENOR(?:ES|A|AS)?|JUDICIAL|RECURSO|SERA|DEBERA|PODRA|NO|SI|SE|DE|EN|CON|O|Y"
    r"|CORREO|INFORMA|INFORMO|PROCESO|PRETENSION(?:ES)?|CEDULA|TUVO|PUEDE|HA|FUE|ES|SON|RECURRENTE"
    r"|IMPUGNANTE|APELANTE|OMISION|CONDUCTA|HECHOS?|FUNDAMENTOS?|PRUEBAS?|FIRMA|NOMBRES?|CALLE"
    r"|CARRERA"
    r"|CRA|CL|KR|CLL|TRANSVERSAL|DIAGONAL|AVENIDA|AV|MANZANA|MZ|BARRIO|VEREDA|LA\s+ENTIDAD|A|AL"
    r"|DEL|LO"
    r"|LOS|HIJ[OA]S?|CONYUGE|ESPOS[OA]|PADRES?|MADRE|REPRESENTANTE|ORDEN|FECHA|DERECHO|TITULO|VALOR"
    r"|HABEAS|AMPARO(?=$)|CUMPLIMIENTO|NULIDAD|LISTA|CUADRO|TABLA|CUANDO|SOLICITUD|TEXTO|OTR[OA]S?"
    r"|AMB[OA]S)(?![A-Z])"
    r"|(?:SOCIEDAD\s+(?:COMERCIAL|ANONIMA|IDENTIF|DOMICIL|LEGALM|CON\s)|ESTABLECIMIENTO\s+BANCARIO"
    r"|(?:ENTIDAD|EMPRESA|PERSONA)\s+(?:DE\s+DERECHO|CON\s|IDENTIF|BANCARIA|FINANCIERA|PRIVADA))"
    r"|(?:NOTIFIC|MANIFIEST|RECIB|ALLEG|APORT|RADICA|IDENTIFIC|APODERAD|OFICIOS|JURIDICA|ACCIONAD"
    r"|DEMANDAD|ACCIONANTE|DEMANDANTE|EJECUTAD)"
    r"|(?:ENTIDAD(?:ES)?(?:\s+(?:ACCIONAD|DEMANDAD|PUBLIC)[A-Z]*)?|AUTORIDAD(?:ES)?(?:\s+[A-Z]+)?"
    r"|ACTORA?"
    r"|VIDA|SALUD|POPULAR|PRINCIPAL|TERCER[OA]S?|ADMINISTRACION|JUEZ|JUZGADO|TRIBUNAL|SALA|DESPACHO"
    r"|EPS|IPS|S\.?A\.?S?\.?|SOCIEDAD|EMPRESA|ACTIVA|PASIVA)$"
)
_ABBREVIATION_END = re.compile(
    r"(?:(?<![A-Z])[A-Z]\.\s?){1,}$|(?<![A-Z])[A-Z]\.(?:[A-Z]\.?)+$|\b(?:LTDA|CIA|INC)\.$"
)
_TRIM_CHARACTERS = " \t\n:;,-*|/\"'("


def trim(folded: str, start: int, end: int) -> Span | None:
    """Narrow a span to the name in it.

    Args:
        folded: the folded text.
        start: offset of the raw value.
        end: offset behind it.

    Returns:
        The span of the name, or None if nothing that can be a name is left.
    """
    while True:
        before = (start, end)
        wrapper = _LEGAL_WRAPPER.match(folded, start, end)
        if wrapper:
            start = wrapper.end()
        left = _LEFT.match(folded, start, end)
        if left and left.end() < end:
            start = left.end()
        cut = _RIGHT.search(folded, start, end)
        if cut and cut.start() >= start:
            end = cut.start()
        restart = _SENTENCE_AFTER_ABBREVIATION.search(folded, start, end)
        if restart:
            end = restart.start()
        start, end = _strip(folded, start, end)
        if start >= end:
            return None
        if (start, end) == before:
            return start, end


def _strip(folded: str, start: int, end: int) -> Span:
    while start < end and folded[start] in _TRIM_CHARACTERS:
        start += 1
    while start < end:
        last = folded[end - 1]
        if (
            last in _TRIM_CHARACTERS
            or (last == ")" and "(" not in folded[start:end])
            or last == "."
            and not _ABBREVIATION_END.search(folded, start, end)
        ):
            end -= 1
        else:
            break
    opened = folded.rfind("(", start, end)
    if opened > start and ")" not in folded[opened:end]:
        return _strip(folded, start, opened)
    return start, end


def is_initials(name: str) -> bool:
    """Tell whether a folded name is only initials, two or more of them."""
    return INITIALS.fullmatch(name) is not None and "." in name


def is_name(name: str) -> bool:
    """Tell whether a folded, trimmed value can be the name of a party."""
    if not 3 <= len(name) <= 160 or "@" in name:
        return False
    if _PLACEHOLDER.search(name) or _NOT_A_NAME.match(name):
        return False
    if is_initials(name):
        return True
    letters = sum(char.isalpha() for char in name)
    return letters >= 3 and re.search(r"[A-Z]{2}", name) is not None and letters * 2 >= len(name)


def is_institution(name: str) -> bool:
    """Tell whether a folded name contains a word of institutions or companies."""
    return INSTITUTION.search(name) is not None
