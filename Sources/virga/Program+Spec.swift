import VirgaAuth
import VirgaCommandLine

extension Program {
  /// What the help, the completions and the manual say.
  static let spec = ProgramSpec(
    name: "virga", version: version, date: "2026-12-01",
    summary:
      "A sync server that speaks CloudKit's protocol, with the accounts of its devices and its schemas.",
    groups: [
      .init("account", "The account of this device"),
      .init("schema", "The schemas of a container"),
      .init("records", "The records of anybody, for whoever runs the server"),
      .init("zones", "The zones of anybody, for whoever runs the server"),
      .init("containers", "The containers of the server"),
      .init("tokens", "The API tokens of the server's containers"),
      .init("keys", "The server-to-server keys of the server's containers"),
      .init("operator", "What whoever runs the server shows"),
      .init("faults", "What goes wrong on purpose on a server, for tests"),
      .init("users", "The accounts of the server, and the roles of their users"),
    ],
    commands: commands.map(\.spec),
    environment: [
      .init("VIRGA_CONTAINER", "The container, where a command needs one and --container is not given."),
      .init("VIRGA_DATA", "The server's data folder, where --data is not given."),
      .init("VIRGA_ENDPOINT", "The server, where --endpoint is not given."),
      .init("VIRGA_HOME", "The device's home, where --home is not given. Default: ~/.virga."),
      .init("VIRGA_OPERATOR_TOKEN", "The operator's token: virga serve takes it, and the operator's commands show it."),
    ],
    exitCodes: [
      .init("0", "Done."),
      .init("1", "Refused, not found, or different."),
      .init("64", "Wrong arguments."),
      .init("65", "Damaged data, or an input that is not what it should be."),
      .init("66", "A file that was named cannot be read."),
      .init("68", "The host is not an address of this machine."),
      .init("69", "The server was not reached, or the port is in use."),
      .init("70", "Anything else."),
      .init("73", "A folder or file cannot be used or written."),
      .init("74", "The disk is full."),
      .init("75", "Another server uses the data folder."),
      .init("76", "The data were written by a newer version."),
      .init("77", "Not permitted: not the operator, no account, or a port that needs a privilege."),
      .init("78", "A setting or a file of the home cannot be used."),
    ],
    files: [
      .init("~/.virga", "The home of a device: its key, its accounts and config.json."),
      .init("./virga-data", "The data of a server: virga.sqlite, assets and secret.key. Back up all of it."),
    ])
}
