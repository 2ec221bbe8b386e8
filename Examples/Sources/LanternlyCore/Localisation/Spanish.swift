let spanishTable: [Text: String] = [
  .weekdays: "dom lun mar mié jue vie sáb",
  .months: "ene feb mar abr may jun jul ago sept oct nov dic",
  .dateTime: "{0} {1} {2} {3}, {4}",
  .oneEntry: "{0} entrada",
  .manyEntries: "{0} entradas",
  .oneAttachment: "{0} adjunto",
  .manyAttachments: "{0} adjuntos",
  .oneDevice: "{0} dispositivo",
  .manyDevices: "{0} dispositivos",

  .nothingFound: "No se ha encontrado nada.",
  .emptyDiary: "El diario está vacío. Escribe la primera entrada con: {p} new",
  .noTitle: "(sin texto)",
  .tagsLine: "Etiquetas: {0}",
  .moodLine: "Ánimo: {0} de 5",
  .weatherLine: "Tiempo: {0}",
  .placeLine: "Lugar: {0}",
  .writtenIn: "{0} ({1})",
  .deviceLine: "Último dispositivo: {0}",
  .attachmentsHead: "Adjuntos:",
  .attachmentHere: "{0}  {1}, {2} bytes, {3}",
  .attachmentNotHere: "{0}  {1}, {2} bytes, aún no está en este dispositivo; llegará con la próxima sincronización",
  .attachmentMissing: "falta el archivo {0}: no estaba en lo importado",
  .copyLine: "Este es el otro texto de la entrada {0}. Véase: {p} conflicts",
  .versionsHead: "Versiones anteriores (recupera una con: {p} edit {0} --restore NÚMERO):",
  .noVersions: "No hay versiones anteriores.",
  .versionLine: "{0}. {1}, {2}: {3}",
  .reasonEdited: "antes de un cambio hecho aquí",
  .reasonReceived: "antes de recibir el cambio de otro dispositivo",
  .reasonMerged: "antes de una fusión",
  .reasonDeleted: "antes de borrarla",
  .reasonImported: "antes de una importación",
  .reasonResolved: "antes de resolver un conflicto",

  .entryAdded: "Entrada {0} añadida.",
  .entryChanged: "Entrada {0} cambiada.",
  .entryUnchanged: "No ha cambiado nada.",
  .entryDeleted: "Entrada {0} borrada. Para recuperarla: {p} edit {0} --restore {1}",
  .emptyTextDropped: "El texto está vacío: no se ha creado ninguna entrada.",
  .emptyTextRefused: "El texto está vacío: la entrada queda como estaba. Para borrarla: {p} delete {0}",
  .textIsTooLong: "El texto es demasiado largo para enviarlo a otros dispositivos. Divídelo: {p} edit {0}",
  .editorLeftNothing: "El editor no ha dejado ningún archivo. No se ha cambiado nada.",
  .noEditor: "No hay texto: usa --text TEXTO, o --text - para la entrada estándar, o define EDITOR.",
  .editorFailed: "El editor terminó con el código {0}. No se ha cambiado nada; tu texto está en {1}",
  .draftIsKept: "Tu texto está en {0}",
  .draftIsLeft: "En {0} hay un texto sin guardar. Para guardarlo: {1} Después borra el archivo.",
  .textIsNotUTF8: "El texto no está en UTF-8. No se ha cambiado nada.",
  .fileIsUnreadable: "No se puede leer el archivo {0}: {1}",

  .importDone: "Importado: {0}, {1}.",
  .importUpdated: "Actualizado con una exportación más reciente: {0}.",
  .importUnchanged: "Ya estaban: {0}.",
  .importKept: "Cambiadas aquí después y conservadas: {0}.",
  .importSkipped: "Omitido: {0}.",
  .importWarnings: "Avisos: {0}.",
  .noteIsNoObject: "{0}, entrada {1}: no es una entrada",
  .noteHasNoDate: "entrada {0}: no tiene fecha",
  .noteDateUnreadable: "entrada {0}: no se puede leer su fecha",
  .noteTooLong: "entrada {0}: su texto es demasiado largo para enviarlo a otros dispositivos; usa {p} edit",
  .noteAppearsTwice: "entrada {0}: aparece dos veces; se usa la modificada más tarde y, a igualdad, la primera",
  .noteIsUnreadable: "{0}: {1}",
  .noteTextBroken: "entrada {0}: su {1} contiene medio carácter y no es texto",
  .noteIsNoJournal: "{0}: no contiene entradas",
  .noteHasNoText: "entrada {0}: no tiene texto; se importa vacía",
  .noteZoneUnknown: "entrada {0}: zona horaria desconocida {1}; se usa GMT",
  .noteValueUnreadable: "entrada {0}: no se puede leer su {1}; se importa sin ello",
  .noteMediaMissing: "entrada {0}: falta el archivo de {1}",
  .noteMediaEmpty: "entrada {0}: el archivo de {1} está vacío",
  .noteMediaDiffers: "entrada {0}: el archivo de {1} difiere de lo que describe la exportación; se importa tal cual",
  .noteMediaUnreadable: "entrada {0}: no se puede leer el archivo de {1}",
  .noteLinkUnknown: "entrada {0}: el texto muestra {1}, que no está en la exportación",
  .importNotFound: "No existe el archivo o la carpeta {0}",
  .importBrokenJSON: "{0} no es JSON válido (línea {1}, columna {2}), así que no se ha importado nada.",
  .importNotAnExport: "{0} no es una exportación de Day One: no contiene diario ni entradas. No se ha cambiado nada.",
  .importBrokenArchive: "No se puede leer el archivo comprimido {0}, así que no se ha importado nada: {1}",
  .importUnsafeArchive: "Se ha rechazado el archivo comprimido {0}: un nombre en él lleva fuera del archivo: {1}",
  .importRepeatedName: "Se ha rechazado el archivo comprimido {0}: contiene {1} dos veces.",
  .importTooLarge: "Se ha rechazado el archivo comprimido {0}: ocuparía mucho más que cualquier exportación.",

  .syncDone: "Sincronizado. Enviado: {0}; recibido: {1}.",
  .syncSent: "Enviado: {0}.",
  .syncReceived: "Recibido: {0}.",
  .syncWaiting: "Aún sin enviar: {0}. Se conserva. La próxima sincronización lo envía.",
  .syncFailed: "Sin sincronizar: {0}",
  .syncNoAccount: "Sin sincronizar: {0}. Véase: {1}",
  .syncPurged: """
  Sin sincronizar: alguien quitó el diario del servidor a propósito. Se queda en este dispositivo.
  Para enviarlo de nuevo: {p} sync --again
  """,
  .syncBusy: "Otro proceso está sincronizando este diario.",
  .syncRefused: "El servidor ha rechazado {0}: {1}",
  .syncRefusedMany: "El servidor ha rechazado {0} cambios: {1}. Se conservan; los primeros son {2}",
  .attachmentsMissing: "Aún por descargar: {0}.",
  .moreChanges: "… y {0} más.",
  .serverAsksToWait: "El servidor pide esperar hasta las {0}. Antes no se envía nada.",
  .recordIsTooLong:
    "La entrada {0} es demasiado larga para enviarse. Se queda solo en este dispositivo. Divídela: {p} edit {0}",
  .errorNetwork: "no se puede llegar al servidor: {0}",
  .errorBusy: "el servidor no puede atenderlo ahora: {0}",
  .errorNoAccount: "no hay cuenta en este dispositivo",
  .errorAccount: "el servidor no da cuenta a este dispositivo: {0}",
  .errorQuota: "no queda espacio en la cuenta",
  .errorTooLarge: "es demasiado grande para un registro: {0}",
  .errorNotEncrypted: "tus dispositivos no cifraron lo que tiene el servidor",
  .errorKeyMissing: "este dispositivo aún no puede leer lo que escribió otro",
  .errorOther: "{0}",
  .errorUntrusted: """
  no se confía en el certificado del servidor: {0}
  Si es tuyo, indica en VIRGA_CA_FILE el archivo con el certificado de quien lo firmó.
  """,
  .errorInsecure: "no se consigue una conexión segura: {0}",
  .errorCertificates: "no se puede usar el archivo de certificados: {0}",
  .errorProxyLimit: """
  el proxy que está delante del servidor no admite peticiones de este tamaño. Pide a quien lo administra que suba el
  límite (nginx: client_max_body_size). La próxima sincronización lo envía
  """,

  .inviteCode: """
  Código: {0}
  En el otro dispositivo, antes de diez minutos: {1}
  Esperando …
  """,
  .inviteCandidate: """
  Un dispositivo quiere entrar: {0}
  Su huella:                    {1}
  """,
  .inviteQuestion: "¿Muestra ese dispositivo la misma huella? ¿Dejarlo entrar? [s/N]",
  .inviteDone: "{0} ha entrado.",
  .inviteRefused: "No se ha dejado entrar a {0}.",
  .joinFingerprint: """
  Huella de este dispositivo: {0}
  Si el otro dispositivo pregunta, confirma allí la huella. Esperando …
  """,
  .joinDone: "Unido como {0}; la cuenta tiene {1}. Para juntar los diarios: {p} sync",
  .joinWrongCode:
    "El código es erróneo, usado o demasiado viejo. Pide otro en un dispositivo de la cuenta: lanternly invite",
  .joinRefused: "El otro dispositivo se ha negado.",
  .joinNotConfirmed: """
  Nadie confirmó este dispositivo antes de que caducara el código. Pide otro en un dispositivo de la cuenta:
  lanternly invite
  """,
  .joinHasAccount:
    "Este dispositivo ya tiene una cuenta en ese servidor. Para dejarla y entrar en la otra: {p} join CÓDIGO --replace",
  .accountRefused: "El servidor no da cuenta a este dispositivo: {0}",
  .serverUnreachable: "No se puede llegar al servidor {0}: {1}",
  .serverInsecure: "No hay conexión segura con {0}: {1}",
  .devicesElsewhere: "Este dispositivo usa un servicio sin cuentas de dispositivos.",
  .deviceSince: "desde {0}",
  .deviceNamed: "Este dispositivo se llama {0}.",
  .deviceNameLater: "Los demás dispositivos verán el nombre después de la próxima sincronización: {0}",
  .watchStarted: "Observando. Termina con Ctrl-C.",
  .watchEnded: "Terminado.",
  .watchOffline: "Sin sincronizar: {0}; se volverá a intentar.",
  .watchOnline: "Sincronizado de nuevo.",
  .changeAdded: "nueva     {0}  {1}",
  .changeUpdated: "cambiada  {0}  {1}",
  .changeDeleted: "borrada   {0}",
  .changeMerged: "fusionada {0}  {1}",
  .changeForked: "conflicto {0}  se conservan ambos textos; el otro es {1}",
  .changeDeletionUndone: "conflicto {0}  borrada en un dispositivo y cambiada en otro; se conserva el cambio",
  .changeAttachmentArrived: "archivo   {0}  {1}",
  .changeAttachmentRemoved: "archivo quitado {0}",
  .changeSent: "enviada   {0}",

  .statusNever: "Aún sin sincronizar: todo está solo en este dispositivo.",
  .statusSynced: "Sincronizado.",
  .statusPending: "Hay cambios por enviar.",
  .statusIncomplete: "Faltan datos en este dispositivo.",
  .statusUnfinished: "La primera sincronización se interrumpió; la próxima la continúa.",
  .statusFirstSync: "La primera sincronización está en curso.",
  .statusAttention: "Requiere atención: la última sincronización ha fallado.",
  .statusNoAccount: "Este dispositivo no tiene cuenta. Lo que escribes aquí se queda aquí. Véase: {0}",
  .statusPurged:
    "Alguien quitó el diario del servidor a propósito. Está solo aquí. Para enviarlo de nuevo: {p} sync --again",
  .statusRunning: "Otro proceso está sincronizando ahora.",
  .statusEntries: "En el diario: {0}, {1}.",
  .statusPendingCounts:
    "Pendiente: {0} por guardar, {1} por borrar, {2} bytes de archivos; archivos por descargar: {3}.",
  .statusLastSuccess: "Último éxito: {0}.",
  .statusLastSuccessNever: "Último éxito: nunca.",
  .statusLastError: "Último error: {0}, {1}",
  .statusNextTry: "Próximo intento: {0}.",
  .statusNextTryByHand: "Próximo intento: con el próximo {p} sync, o mientras funcione {p} watch.",
  .statusLocked: """
  No se puede leer en este dispositivo: {0}. Falta la clave, o alguien lo dañó.
  Para recibir la clave, únete de nuevo a la cuenta: lanternly invite en otro dispositivo y {p} join CÓDIGO --replace
  """,
  .statusNotEncrypted: """
  No cifrado por tus dispositivos: {0}, no se muestra: {1}
  Lo escribió una página web o quien administra el servidor.
  """,
  .statusConflicts: "Conflictos abiertos: {0}. Véase: {p} conflicts",
  .statusClockAhead: "El reloj de este dispositivo está adelantado {0} respecto al del servidor. Ponlo en hora.",
  .statusClockBehind: "El reloj de este dispositivo está atrasado {0} respecto al del servidor. Ponlo en hora.",
  .oneDay: "{0} día", .manyDays: "{0} días",
  .oneHour: "{0} hora", .manyHours: "{0} horas",
  .oneMinute: "{0} minuto", .manyMinutes: "{0} minutos",
  .oneSecond: "{0} segundo", .manySeconds: "{0} segundos",
  .twoParts: "{0} y {1}",
  .statusRecordRefused: "Rechazado por el servidor: {0}: {1}",
  .statusHome: "Diario: {0} (dispositivo {1})",
  .statusAccount: "Cuenta: {0}, {1}",

  .noConflicts: "No hay conflictos.",
  .conflictTexts: "La entrada {0} se escribió en dos dispositivos a la vez. Se conservan ambos textos:",
  .conflictTextOf: "  {0} (entrada {1}, de {2}, {3}):",
  .conflictHowTexts: "  Resuélvelo con: {p} conflicts resolve {0} --keep original|copy|both|mine|theirs",
  .conflictDeletion: "La entrada {0} se borró en un dispositivo y se cambió en otro; se conservó el cambio. {1}",
  .conflictValue: "Entrada {0}: {1} cambió en dos dispositivos. Vale el último cambio, {2} queda en la versión {3}.",
  .conflictHowNote: "  Para cerrar este aviso: {p} conflicts resolve {0}",
  .conflictSettled: "Resuelto.",
  .conflictNotFound: "La entrada {0} no tiene ningún conflicto abierto.",
  .conflictSameDevice: "Visto desde este dispositivo, ambos textos vienen del mismo lado. Elige original, copy o both.",
  .fieldText: "el texto",
  .fieldWritten: "la fecha",
  .fieldStarred: "la estrella",
  .fieldMood: "el ánimo",
  .fieldPlace: "el lugar",
  .fieldWeather: "el tiempo",
  .fieldCopyOf: "la copia conservada",
  .valueYes: "sí",
  .valueNo: "no",
  .valueNone: "nada",

  .entryNotFound: "No existe la entrada {0}.",
  .entryIsAmbiguous: "Varias entradas empiezan por {0}: {1}",
  .versionNotFound: "La entrada {0} no tiene la versión {1}.",
  .attachmentNotFound: "La entrada {0} no tiene el adjunto {1}.",
  .usageNoCommand: "Indica una orden.",
  .usageUnknownCommand: "No existe la orden {0}.",
  .usageUnknownOption: "{1} no tiene la opción --{0}.",
  .usageValueMissing: "--{0} necesita un valor.",
  .usageValueUnwanted: "--{0} no lleva valor.",
  .usageRepeated: "--{0} solo puede darse una vez.",
  .usageExclusive: "Usa --{0} o --{1}, no ambas.",
  .usageWordMissing: "{0} necesita un argumento.",
  .usageTooManyWords: "{1} no acepta {0}.",
  .usageValueWrong: "{1} no es un valor para --{0}.",
  .usageSeeHelp: "Véase: lanternly help {0}",
  .diaryIsNewer: "Una versión posterior de este programa escribió el diario {0}. Actualiza el programa.",
  .diaryIsForeign: "El archivo {0} pertenece a otro programa.",
  .diaryFailed: "No se puede usar el diario {0}: {1}",
  .diaryIsDamaged: """
  El diario {0} está dañado: {1}.
  Recupéralo de una copia. O apártalo, con todos los archivos cuyos nombres empiezan igual. Después recupera lo que
  estaba sincronizado con: {p} sync
  """,
  .fileFailed: "{0}: {1}",
  .outputFailed: "No se ha podido escribir la salida.",
  .diaryIsUnfinished: """
  La carpeta {0} es de solo lectura y su diario no se cerró antes. Copia la carpeta a un lugar donde puedas escribir y
  lee la copia con --home.
  """,
  .onlyOutputFailed: "La orden se ha hecho, pero no se ha podido escribir su salida.",
  .noDiary: "No hay ningún diario en {0}. Para crearlo, escribe la primera entrada: {p} new",
  .diskIsFull: "No queda espacio en el disco de {0}",
  .homeIsReadOnly: "La carpeta {0} es de solo lectura: no se puede escribir nada en ella.",
  .unexpected: "Ha ocurrido algo inesperado: {0}",

  .exportDone: "Exportado: {0}, {1}, a {2}",
  .exportMissing: "Sin exportar, porque no está en este dispositivo: {0}. Quizá lo traiga una sincronización.",
  .exportIsNotEmpty: "La carpeta {0} no está vacía. Indica otra.",
  .fileOpened: "Abierto: {0}.",
  .fileIsNotHere: "El archivo {0} aún no está en este dispositivo. La próxima sincronización lo trae.",
  .nothingToOpen: "La entrada {0} no tiene archivos.",
  .openerFailed: "{0} terminó con el código {1}. El archivo es {2}. Para usar otro programa, define LANTERNLY_OPENER.",

  .progressReading: "Leyendo",
  .progressImport: "Importando",
  .progressExport: "Exportando",
  .progressSync: "Sincronizando",
  .progressEntries: "entradas",
  .progressChanges: "cambios",

  .programSummary: "Un diario para la terminal que se sincroniza entre tus dispositivos.",
  .helpWords: "Uso|Opciones|Órdenes|[opciones]|Muestra esto y termina.",
  .exitCodes: """
  0 hecho
  1 fallo
  2 no entendido
  3 no encontrado
  4 importación inservible
  5 sin sincronizar
  6 sin cuenta
  7 ocupado
  """,
  .wordID: "ID",
  .wordWord: "PALABRA",
  .wordPath: "RUTA",
  .wordFolder: "CARPETA",
  .wordFile: "ARCHIVO",
  .wordCode: "CÓDIGO",
  .wordName: "NOMBRE",
  .wordNameItself: "name",
  .wordResolve: "resolve",
  .wordShell: "SHELL",
  .wordCommand: "ORDEN",
  .optionText: "TEXTO|El texto; - es la entrada estándar.",
  .optionAppend: "TEXTO|Un texto para añadir al de la entrada; - es la entrada estándar.",
  .optionDate: "CUÁNDO|La fecha de la entrada: 2026-11-30, o \"2026-11-30 18:05\".",
  .optionZone: "ZONA|La zona horaria, como Europe/Madrid. Por defecto, la de esta máquina.",
  .optionTag: "ETIQUETA|Una etiqueta.",
  .optionUntag: "ETIQUETA|Una etiqueta que quitar.",
  .optionMood: "ÁNIMO|De 1 a 5, o none.",
  .optionStar: "Añadir la estrella.",
  .optionUnstar: "Quitarle la estrella.",
  .optionPlace: "NOMBRE|El nombre del lugar.",
  .optionAttach: "ARCHIVO|Un archivo que añadir. Se copia al diario.",
  .optionDetach: "ARCHIVO|Un archivo que quitar de la entrada.",
  .optionRestore: "NÚMERO|Recuperar una versión anterior.",
  .optionLimit: "N|Mostrar como mucho tantas.",
  .optionStarred: "Solo entradas con estrella.",
  .optionSince: "DÍA|Solo entradas de ese día o posteriores.",
  .optionUntil: "DÍA|Solo entradas de ese día o anteriores.",
  .optionVersions: "Listar las versiones anteriores.",
  .optionFormat: "FORMATO|Solo json o solo markdown. Por defecto, ambos.",
  .optionAgain: "Enviar un diario que alguien quitó del servidor a propósito.",
  .optionYes: "No preguntar.",
  .optionServer: "URL|El servidor. Se recuerda.",
  .optionReplace: "Dejar la cuenta que este dispositivo tiene en el servidor.",
  .optionKeep: "CUÁL|Qué texto queda: original, copy, both, mine o theirs.",
  .optionFile: "ARCHIVO|Escribirlas en este archivo.",
  .optionHome: "CARPETA|La carpeta del diario. Por defecto: $LANTERNLY_HOME o ~/.lanternly.",
  .optionJSON: "Imprimir JSON.",
  .variableHome: "La carpeta del diario, si no es ~/.lanternly.",
  .variableKeys: "La carpeta de la clave y la cuenta. Por defecto: ~/.virga, o virga en la carpeta del diario.",
  .variableEndpoint: "La dirección del servidor.",
  .variableCertificates: "Un archivo con los certificados de confianza, en formato PEM.",
  .variableEditor: "El editor de textos.",
  .variablePager: "El programa que muestra por páginas lo que es largo.",
  .variableNoColour: "Sin colores.",
  .variableOpener: "El programa que abre archivos. Por defecto: xdg-open.",
  .helpExport: """
  Escribe el diario en una carpeta nueva: Journal.json con la forma de una exportación de Day One, un archivo Markdown
  por entrada, y las fotos y demás archivos. Day One y lanternly import leen Journal.json.
  """,
  .helpOpen: """
  Abre los archivos de una entrada, o solo los que indiques, con los programas del escritorio.
  """,
  .helpCompletion: """
  Imprime lo que bash, zsh o fish completan.
  Para bash: lanternly completion bash --file ~/.local/share/bash-completion/completions/lanternly
  """,
  .helpManual: """
  Escribe las páginas del manual en una carpeta. Para leer una: man CARPETA/lanternly.1
  """,
  .help: """
  Lanternly, un diario para la terminal. Funciona sin red y sin iniciar sesión. Tus dispositivos se sincronizan a
  través de tu propio servidor.

  Uso: lanternly [--home CARPETA] ORDEN [OPCIONES]

  {0}

  --home CARPETA  La carpeta del diario (por defecto: $LANTERNLY_HOME o ~/.lanternly). Cada carpeta es un dispositivo.
  --json          Para programas: list, search, show, status, conflicts, import, sync.
  Indica una entrada por los primeros caracteres de su nombre. LC_ALL, LC_MESSAGES o LANG eligen inglés o español.
  Códigos de salida: 0 hecho, 1 fallo, 2 no entendido, 3 no encontrado, 4 importación inservible,
  5 sin sincronizar, 6 sin cuenta, 7 ocupado.
  """,
  .helpNew: """
  Escribe una entrada. Sin --text, el texto se lee de la entrada estándar o se escribe en $VISUAL o $EDITOR.
  CUÁNDO es como 2026-11-30 o "2026-11-30 18:05", en ZONA (por defecto, la de esta máquina).
  """,
  .helpEdit: """
  Cambia una entrada. Sin opciones, el texto se abre en $VISUAL o $EDITOR. --restore recupera una versión anterior;
  lanternly show ID --versions las lista.
  """,
  .helpList: """
  Lista las entradas, primero la última. Fechas y horas son las de la zona horaria de cada entrada.
  """,
  .helpShow: """
  Muestra una entrada con sus adjuntos, o sus versiones anteriores.
  """,
  .helpSearch: """
  Busca entradas con todas las palabras en su texto, etiquetas o lugar. No importan mayúsculas ni acentos.
  """,
  .helpDelete: """
  Borra entradas en todos los dispositivos. Si otra persona o dispositivo cambió alguna entretanto, el cambio se
  conserva y se avisa.
  """,
  .helpImport: """
  Incorpora una exportación de Day One: una carpeta, un archivo JSON o ZIP, un paquete de la versión clásica o un
  archivo .doentry. Importar de nuevo no cambia nada; las entradas cambiadas aquí se conservan, salvo que la
  exportación sea más reciente.
  """,
  .helpSync: """
  Envía lo pendiente y recibe lo nuevo. El servidor es el de VIRGA_ENDPOINT o el de los ajustes de la cuenta.
  --again envía un diario que alguien quitó del servidor a propósito.
  """,
  .helpWatch: """
  Sincroniza sin parar y muestra los cambios según llegan. Si el servidor no está, lo espera.
  """,
  .helpInvite: """
  Muestra un código con el que otro dispositivo puede entrar en la cuenta de este, y pregunta antes de dejarlo entrar.
  --yes deja entrar al primero sin preguntar.
  """,
  .helpJoin: """
  Entra en la cuenta del dispositivo que muestra CÓDIGO. --server nombra el servidor y se recuerda; --replace deja la
  cuenta que este dispositivo tiene allí.
  """,
  .helpDevices: """
  Lista los dispositivos de la cuenta; un asterisco marca este. Para quitar uno: virga account remove
  """,
  .helpDevice: """
  Muestra el nombre que ven los demás, o lo cambia. Si ya lo tiene otro dispositivo, se añade un número.
  """,
  .helpStatus: """
  Muestra los cambios pendientes, la última sincronización, el último error y el próximo intento.
  """,
  .helpConflicts: """
  Lista lo que dos dispositivos hicieron a la vez con una entrada. Con dos textos, ID es la copia y --keep dice cuál
  queda: el de la entrada (original), el de la copia (copy), ambos como dos entradas (both), el escrito en este
  dispositivo (mine) o el del otro (theirs). El texto que se va queda entre las versiones. Los demás avisos se
  cierran sin --keep.
  """,
  .helpHelp: """
  Explica una orden, o las lista todas.
  """,
]
