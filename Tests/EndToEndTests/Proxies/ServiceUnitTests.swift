import Foundation
import TestSupport
import Testing

@Suite struct ServiceUnitTests {
  /// systemd knows every line of the unit, and the program takes the command that it starts.
  @Test func systemdTakesTheUnit() async throws {
    guard try await Command.isInstalled("systemd-analyze") else { return }
    let folder = try TemporaryFolder()
    let unit = try Repository.text(of: "packaging/virga.service")
    #expect(unit.contains("ExecStart=/usr/bin/virga serve --data /var/lib/virga $VIRGA_OPTIONS\n"))
    let file = folder.path + "/virga.service"
    try unit.replacing("/usr/bin/virga", with: ProgramRun.path).write(toFile: file, atomically: true, encoding: .utf8)
    let verified = try await Command.run("systemd-analyze", "verify", file)
    // What is unknown is named, with success all the same.
    #expect(verified.code == 0 && !verified.output.contains("virga.service"), "\(verified.output)")
  }
}
