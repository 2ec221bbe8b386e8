import VirgaAuth
import VirgaWire

/// The page to which an answer that needs a user sends a browser. It loads nothing from anywhere.
struct SignInPage {
  private let query: QueryParameters
  private let texts: SignInTexts

  init(_ head: HTTPRequestHead) {
    query = QueryParameters(of: head)
    texts = SignInTexts.preferred(head.headers["Accept-Language"] ?? "")
  }

  var response: HTTPResponse {
    let nonce = CanonicalBase64.encodeForURL(SystemRandom.bytes(18))
    let policy = [
      "default-src 'none'", "script-src 'nonce-\(nonce)'", "style-src 'nonce-\(nonce)'", "connect-src 'self'",
      "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ]
    return HTTPResponse(
      status: 200,
      headers: HTTPHeaders([
        ("Content-Type", "text/html; charset=UTF-8"), ("Content-Language", texts.language),
        ("Content-Security-Policy", policy.joined(separator: "; ")), ("Cache-Control", "no-store"),
        ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
        ("Vary", "Accept-Language"),
      ]), body: .bytes(Array(html(nonce: nonce).utf8)))
  }

  private func html(nonce: String) -> String {
    let container = Self.escaped(query["container"] ?? "")
    return """
      <!DOCTYPE html>
      <html lang="\(texts.language)">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(texts.title)</title>
      <style nonce="\(nonce)">\(Self.style)</style>
      </head>
      <body data-container="\(container)" data-token="\(Self.escaped(query["token"] ?? ""))" \
      data-origin="\(Self.escaped(query["origin"] ?? ""))" data-wait="\(texts.wait)" data-refused="\(texts.refused)" \
      data-expired="\(texts.expired)" data-failed="\(texts.failed)" data-busy="\(texts.busy)" data-done="\(texts.done)" \
      data-copy="\(texts.copy)">
      <main>
      <h1>\(texts.title)</h1>
      <p>\(texts.wants) <b>\(container)</b></p>
      <section id="ask" hidden>
      <p>\(texts.run)</p>
      <p class="command"><code>virga account approve <span id="code"></span></code></p>
      <p><label><input type="checkbox" id="keep"> \(texts.keep)</label></p>
      </section>
      <p id="state" role="status" aria-live="polite">\(texts.wait)</p>
      <p><output id="token" hidden></output></p>
      <p><button id="again" type="button" hidden>\(texts.again)</button></p>
      <noscript><p>\(texts.script)</p></noscript>
      </main>
      <script nonce="\(nonce)">\(Self.script)</script>
      </body>
      </html>

      """
  }

  /// A text as it may stand in an element or between double quotes.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static let style = """
    :root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}
    body{margin:0;display:grid;min-height:100vh;place-items:center}
    main{max-width:32rem;padding:1.5rem}
    code{font-size:1.2rem}
    #code{font-weight:700;white-space:nowrap}
    .command{padding:.75rem 1rem;border:1px solid;border-radius:.5rem}
    #token{font-family:monospace;overflow-wrap:anywhere}
    """

  // The token goes to the one origin that the server names, never to "*".
  private static let script = """
    (() => {
      const page = document.body.dataset, element = id => document.getElementById(id);
      const say = text => { element("state").textContent = text; };
      const call = async (name, message) => {
        const answer = await fetch("sign-in/" + name, {
          method: "POST", credentials: "omit", cache: "no-store",
          headers: { "Content-Type": "application/json" }, body: JSON.stringify(message)
        });
        const json = await answer.json();
        if (!answer.ok) { throw { status: answer.status, reason: json.reason }; }
        return json;
      };
      const handOver = given => {
        element("ask").hidden = true;
        const token = given.webAuthToken;
        if (given.way === "redirect") { say(page.done); location.replace(given.url); return; }
        if (given.way === "message" && window.opener) {
          window.opener.postMessage({ ckWebAuthToken: token, ckSession: token }, given.origin);
          say(page.done);
          window.close();
          return;
        }
        say(page.copy);
        element("token").textContent = token;
        element("token").hidden = false;
      };
      const stop = text => { element("ask").hidden = true; element("again").hidden = false; say(text); };
      const signIn = async () => {
        element("again").hidden = true;
        say(page.wait);
        try {
          const message = { container: page.container, token: page.token };
          if (page.origin) { message.origin = page.origin; }
          const begun = await call("start", message);
          element("code").textContent = begun.code;
          element("ask").hidden = false;
          let state = "waiting";
          while (state === "waiting") { state = (await call("wait", { ticket: begun.ticket })).state; }
          if (state === "refused") { stop(page.refused); return; }
          handOver(await call("collect", { ticket: begun.ticket, keepsSignedIn: element("keep").checked }));
        } catch (error) {
          if (error.status === 404 && !element("ask").hidden) { stop(page.expired); }
          else if (error.status === 429) { stop(page.busy); }
          else { stop(page.failed + (error.reason ? " " + error.reason : "")); }
        }
      };
      element("again").addEventListener("click", signIn);
      signIn();
    })();
    """
}
