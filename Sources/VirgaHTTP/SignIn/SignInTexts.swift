/// What the sign-in page says, in one language.
struct SignInTexts: Sendable {
  var language: String
  var title: String
  var wants: String
  var run: String
  var keep: String
  var wait: String
  var refused: String
  var expired: String
  var failed: String
  var busy: String
  var done: String
  var copy: String
  var again: String
  var script: String

  static let english = SignInTexts(
    language: "en",
    title: "Sign in",
    wants: "A page asks for your data in",
    run: "There is no password. Run this on a device of your account, and check who asks before you say yes:",
    keep: "Keep me signed in on this browser",
    wait: "Waiting for your device …",
    refused: "Your device said no.",
    expired: "The code has expired.",
    failed: "The sign-in failed.",
    busy: "Too many sign-ins at once. Wait a minute and try again.",
    done: "You are signed in. You can close this window.",
    copy: "You are signed in. Give this token to the program that sent you here:",
    again: "Try again",
    script: "This page needs JavaScript.")

  static let spanish = SignInTexts(
    language: "es",
    title: "Iniciar sesión",
    wants: "Una página pide acceso a tus datos en",
    run:
      "Aquí no hay contraseñas. Ejecuta esto en un dispositivo de tu cuenta y mira quién lo pide antes de aceptar:",
    keep: "Mantener la sesión iniciada en este navegador",
    wait: "Esperando a tu dispositivo …",
    refused: "Tu dispositivo dijo que no.",
    expired: "El código ha caducado.",
    failed: "No se ha podido iniciar la sesión.",
    busy: "Hay demasiados inicios de sesión a la vez. Espera un minuto y vuelve a intentarlo.",
    done: "Has iniciado sesión. Ya puedes cerrar esta ventana.",
    copy: "Has iniciado sesión. Entrega este token al programa que te envió aquí:",
    again: "Volver a intentarlo",
    script: "Esta página necesita JavaScript.")

  /// The language that a browser likes best among ours; English where it likes none.
  /// - Parameter header: `Accept-Language`, such as `es-MX,es;q=0.9,en;q=0.8`.
  static func preferred(_ header: String) -> SignInTexts {
    var best: (texts: SignInTexts, quality: Double)?
    for range in header.split(separator: ",").prefix(32) {
      let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
      guard let tag = parts.first else { continue }
      let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      let texts: SignInTexts
      switch tag.prefix(while: { $0 != "-" }) {
      case "es": texts = spanish
      case "en", "*": texts = english
      default: continue
      }
      if quality > 0, quality > best?.quality ?? 0 { best = (texts, quality) }
    }
    return best?.texts ?? english
  }
}
