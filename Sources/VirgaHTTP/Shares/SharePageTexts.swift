/// What the page of a share says, in one language.
struct SharePageTexts: Sendable {
  var language: String
  var unnamed: String
  var from: String
  var forEverybody: String
  var forTheInvited: String
  var inTheApp: String
  var inATerminal: String
  var wholeAddress: String
  var gone: String
  var goneWhy: String

  static let english = SharePageTexts(
    language: "en",
    unnamed: "Something is shared with you",
    from: "Somebody shares data of an app with you:",
    forEverybody: "Whoever has this address may join.",
    forTheInvited: "Those whom the owner invited may join.",
    inTheApp: "Open this address in that app on a device of yours, and it asks whether to accept.",
    inATerminal: "Or accept it here, on a device of your account, and the app finds it the next time it syncs:",
    wholeAddress:
      "Use the whole address that you were given. What stands behind # in it opens encrypted values, and this page does not see it.",
    gone: "Nothing is shared here",
    goneWhy: "The address is wrong, or its owner has stopped sharing. Ask them for a new one.")

  static let spanish = SharePageTexts(
    language: "es",
    unnamed: "Han compartido algo contigo",
    from: "Alguien comparte contigo datos de una app:",
    forEverybody: "Puede participar quien tenga esta dirección.",
    forTheInvited: "Pueden participar las personas invitadas.",
    inTheApp: "Abre esta dirección en esa app, en un dispositivo tuyo, y te preguntará si aceptas.",
    inATerminal:
      "O acéptalo aquí, en un dispositivo de tu cuenta, y la app lo encontrará la próxima vez que sincronice:",
    wholeAddress:
      "Usa la dirección completa que te dieron. Lo que va detrás de # abre los valores cifrados, y esta página no lo ve.",
    gone: "Aquí no hay nada compartido",
    goneWhy: "La dirección no es correcta o ya no se comparte. Pide una nueva a quien te la dio.")

  static func preferred(_ header: String) -> SharePageTexts {
    SignInTexts.preferred(header).language == spanish.language ? spanish : english
  }
}
