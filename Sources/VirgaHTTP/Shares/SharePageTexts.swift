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
    from: "Somebody shares data from an app with you:",
    forEverybody: "Everybody who has this address may join.",
    forTheInvited: "Only people invited by the owner may join.",
    inTheApp: "Open this address in that app on your device. The app asks whether to accept.",
    inATerminal: "Or run this command on a device of your account. The app finds the share at its next sync:",
    wholeAddress:
      "Use the whole address that you got. The part after # opens encrypted values. This page does not see that part.",
    gone: "Nothing is shared here",
    goneWhy: "The address is wrong, or its owner has stopped sharing. Ask them for a new one.")

  static let spanish = SharePageTexts(
    language: "es",
    unnamed: "Han compartido algo contigo",
    from: "Alguien comparte contigo datos de una app:",
    forEverybody: "Puede participar quien tenga esta dirección.",
    forTheInvited: "Solo pueden participar las personas invitadas.",
    inTheApp: "Abre esta dirección en esa app, en un dispositivo tuyo. La app te preguntará si aceptas.",
    inATerminal:
      "O ejecuta esta orden en un dispositivo de tu cuenta. La app lo encontrará la próxima vez que sincronice:",
    wholeAddress:
      "Usa la dirección completa que te dieron. La parte detrás de # abre los valores cifrados. Esta página no ve "
      + "esa parte.",
    gone: "Aquí no hay nada compartido",
    goneWhy: "La dirección no es correcta o ya no se comparte. Pide una nueva a quien te la dio.")

  static func preferred(_ header: String) -> SharePageTexts {
    SignInTexts.preferred(header).language == spanish.language ? spanish : english
  }
}
