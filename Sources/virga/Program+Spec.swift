import VirgaAuth
import VirgaCommandLine

extension Program {
  /// What the help, the completions and the manual say.
  static let spec = ProgramSpec(
    name: "virga", version: version, date: "2026-12-01",
    summary:
      "A sync server that speaks CloudKit's protocol, with device accounts and schemas.",
    groups: [
      .init("account", "The account of this device"),
      .init("schema", "The schemas of a container"),
      .init("records", "The records of all users, for the operator"),
      .init("zones", "The zones of all users, for the operator"),
      .init("containers", "The containers of the server"),
      .init("tokens", "The API tokens of the server's containers"),
      .init("keys", "The server-to-server keys of the server's containers"),
      .init("operator", "The operator's token"),
      .init("faults", "Faults on purpose, for tests"),
      .init("users", "The accounts of the server, and the roles of their users"),
    ],
    commands: commands.map(\.spec),
    environment: [
      .init("VIRGA_CONTAINER", "The container, if a command needs one and --container is not given."),
      .init("VIRGA_DATA", "The server's data folder, if --data is not given."),
      .init("VIRGA_ENDPOINT", "The server, if --endpoint is not given."),
      .init("VIRGA_HOME", "The device's home, if --home is not given. Default: ~/.virga."),
      .init("VIRGA_OPERATOR_TOKEN", "The operator's token, for virga serve and for the operator's commands."),
    ],
    exitCodes: [
      .init("0", "Done."),
      .init("1", "Refused, not found, or different."),
      .init("64", "Wrong arguments."),
      .init("65", "Damaged data, or a wrong input."),
      .init("66", "A file cannot be read."),
      .init("68", "The host is not an address of this machine."),
      .init("69", "The server was not reached, or the port is in use."),
      .init("70", "Anything else."),
      .init("73", "A folder or file cannot be used or written."),
      .init("74", "The disk is full."),
      .init("75", "Another server uses the data folder."),
      .init("76", "The data were written by a newer version."),
      .init("77", "Not permitted: not the operator, no account, or a port below 1024."),
      .init("78", "A setting or a file of the home cannot be used."),
    ],
    files: [
      .init("~/.virga", "The home of a device: its key, its accounts and config.json."),
      .init("./virga-data", "The data of a server: virga.sqlite, assets and secret.key. Back up all of it."),
    ])
}
