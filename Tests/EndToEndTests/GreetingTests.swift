import Foundation
import Testing

/// What `virga serve` says when it starts, word for word.
@Suite(.timeLimit(.minutes(1))) struct GreetingTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var options: [String]
    var greeting: String

    var testDescription: String { options.joined(separator: " ") }
  }

  static let cases = [
    Case(
      options: [],
      greeting: """
        Virga VERSION serves http://127.0.0.1:PORT
          Data:         DATA
          New accounts: open to everybody who can reach the address
          Answers to:   localhost, 127.0.0.1, ::1
          Operator:     this user, on this machine (virga finds the token by itself)
          Assumes:      only this machine reaches the port. Before you put a proxy in front, start with --base-url
                        (docs/operating.md). Otherwise strangers could make accounts and use up your limits.
        Try next:
          virga account show --endpoint http://127.0.0.1:PORT
          virga account token --container iCloud.com.example.App --endpoint http://127.0.0.1:PORT

        """),
    Case(
      options: ["--enrolment", "closed"],
      greeting: """
        Virga VERSION serves http://127.0.0.1:PORT
          Data:         DATA
          New accounts: none
          Answers to:   localhost, 127.0.0.1, ::1
          Operator:     this user, on this machine (virga finds the token by itself)
          Assumes:      only this machine reaches the port. Before you put a proxy in front, start with --base-url
                        (docs/operating.md). Otherwise strangers could use up your limits.
        Try next:
          virga users list --data DATA    (who has an account)

        """),
    Case(
      options: [
        "--ephemeral", "--base-url", "https://sync.invalid", "--enrolment", "invite", "--address-rate", "100",
        "--container", "iCloud.a", "--container", "iCloud.b",
      ],
      greeting: """
        Virga VERSION serves http://127.0.0.1:PORT
          Data:         in memory; lost when the server stops
          New accounts: only with a code
          Clients use:  https://sync.invalid
          Containers:   iCloud.a, iCloud.b
          Answers to:   localhost, 127.0.0.1, ::1, sync.invalid
          Operator:     this user, on this machine (virga finds the token by itself)
          Assumes:      a proxy on this machine sets X-Forwarded-For to the client's address, and drops what the client sent.
                        If it does not, an address's requests and wrong codes are counted for all clients together,
                        or for any address that a client makes up. Every caller needs credentials, also on this machine.
        Try next:
          virga account join CODE --endpoint https://sync.invalid    (makes the first account)
          virga account token --container iCloud.a --endpoint https://sync.invalid

        """),
  ]

  @Test(arguments: cases) func theGreetingSaysWhereItIsWhatItAssumesAndWhatToTry(wanted: Case) async throws {
    let server = try await ServerProcess(options: wanted.options)
    let greeting = server.greeting.replacing(":\(server.port)", with: ":PORT").replacing(server.data, with: "DATA")
      .replacing(#/^Virga [^ ]+ /#, with: "Virga VERSION ").replacing(#/join [A-Z0-9-]+ /#, with: "join CODE ")
    #expect(greeting == wanted.greeting)
    #expect(await server.terminate().code == 0)
  }
}
