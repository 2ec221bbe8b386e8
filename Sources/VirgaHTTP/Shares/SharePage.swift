import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

/// What a browser shows at the address of a share: what it is, and how it is accepted. The page has no script and loads
/// nothing; nobody is signed in by looking at it.
struct SharePage {
  let path: SharePath
  /// The share's address, as it was opened.
  let address: String
  /// What is told of the share; `nil` if there is none.
  let summary: ShareSummary?
  let texts: SharePageTexts

  var response: HTTPResponse {
    let nonce = CanonicalBase64.encodeForURL(SystemRandom.bytes(18))
    let policy = [
      "default-src 'none'", "style-src 'nonce-\(nonce)'", "base-uri 'none'", "form-action 'none'",
      "frame-ancestors 'none'",
    ]
    return HTTPResponse(
      status: summary == nil ? 404 : 200,
      headers: HTTPHeaders([
        ("Content-Type", "text/html; charset=UTF-8"), ("Content-Language", texts.language),
        ("Content-Security-Policy", policy.joined(separator: "; ")), ("Cache-Control", "no-store"),
        // The address is what lets people in: it goes to no other site and into no index.
        ("Referrer-Policy", "no-referrer"), ("X-Robots-Tag", "noindex"), ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"), ("Vary", "Accept-Language"),
      ]), body: .bytes(Array(html(nonce: nonce).utf8)))
  }

  private func html(nonce: String) -> String {
    let title = summary?.title ?? (summary == nil ? texts.gone : texts.unnamed)
    return """
      <!DOCTYPE html>
      <html lang="\(texts.language)">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(SignInPage.escaped(title))</title>
      <style nonce="\(nonce)">\(Self.style)</style>
      </head>
      <body>
      <main>
      <h1>\(SignInPage.escaped(title))</h1>
      \(summary.map(invitation) ?? "<p>\(texts.goneWhy)</p>")
      </main>
      </body>
      </html>

      """
  }

  private func invitation(_ summary: ShareSummary) -> String {
    let who = summary.isOpen ? texts.forEverybody : texts.forTheInvited
    let app = SignInPage.escaped(path.container.rawValue)
    let command = "virga account accept \(SignInPage.escaped(address))"
    return """
      <p>\(texts.from) <b>\(app)</b>. \(who)</p>
      <p>\(texts.inTheApp)</p>
      <p>\(texts.inATerminal)</p>
      <p class="command"><code>\(command)</code></p>
      <p>\(texts.wholeAddress)</p>
      """
  }

  private static let style = """
    :root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}
    body{margin:0;display:grid;min-height:100vh;place-items:center}
    main{max-width:36rem;padding:1.5rem}
    .command{padding:.75rem 1rem;border:1px solid;border-radius:.5rem}
    code{overflow-wrap:anywhere}
    """
}

extension Gateway {
  /// Answers who opens the address of a share.
  func sharePage(_ path: SharePath, _ head: HTTPRequestHead) async -> HTTPResponse {
    guard configuration.serves(path.container) else {
      return failure(ServiceError(.notFound, "there is no container \(path.container) on this server"))
    }
    do {
      let summary = try await store.read { [service] in try service.shareSummary(at: path, in: $0) }
      return SharePage(
        path: path, address: urls(for: head).base + path.path, summary: summary,
        texts: .preferred(head.headers["Accept-Language"] ?? "")
      ).response
    } catch {
      let uuid = makeUUID()
      return failure(serviceError(error, uuid: uuid, during: "share page"), uuid: uuid)
    }
  }
}
