/// An example or two for each command, as one would type it.
enum CommandExamples {
  static let all: [String: [String]] = [
    "virga serve": [
      "virga serve", "virga serve --base-url https://sync.example --container iCloud.com.example.App",
      "virga serve --ephemeral --faults faults.json",
    ],
    "virga account show": ["virga account show", "virga account show --json"],
    "virga account invite": ["virga account invite", "virga account invite --new-account"],
    "virga account join": ["virga account join ABCD-EFGH", "virga account join ABCD-EFGH --replace"],
    "virga account new": ["virga account new", "virga account new --replace"],
    "virga account devices": ["virga account devices"],
    "virga account remove": ["virga account remove 0f3c…"],
    "virga account approve": ["virga account approve ABCD-EFGH"],
    "virga account accept": ["virga account accept https://sync.example/share/iCloud.com.example.App/production/…"],
    "virga account token": ["virga account token --container iCloud.com.example.App"],
    "virga account reset-keys": ["virga account reset-keys"],
    "virga schema export": ["virga schema export --container iCloud.com.example.App > app.ckdb"],
    "virga schema import": ["virga schema import --container iCloud.com.example.App --file app.ckdb"],
    "virga schema validate": ["virga schema validate --file app.ckdb"],
    "virga schema diff": ["virga schema diff --container iCloud.com.example.App"],
    "virga schema deploy": ["virga schema deploy --container iCloud.com.example.App"],
    "virga schema reset": ["virga schema reset --container iCloud.com.example.App"],
    "virga records list": [
      "virga records list --container iCloud.com.example.App --user _0a1b… --zone Notes --data virga-data",
      "VIRGA_CONTAINER=iCloud.com.example.App VIRGA_DATA=virga-data virga records list --user _0a1b… --zone Notes --json",
    ],
    "virga records get": [
      "virga records get note-1 note-2 --container iCloud.com.example.App --user _0a1b… --zone Notes --data virga-data"
    ],
    "virga records changes": [
      "virga records changes --zone Notes --since 5f3k… --json --container iCloud.com.example.App --user _0a1b… …"
    ],
    "virga records query": [
      "virga records query --type Note --sort -date --limit 10 --container iCloud.com.example.App --user _0a1b… "
        + "--data virga-data",
      #"virga records query --type Note --filter '{"comparator":"EQUALS","fieldName":"done","fieldValue":{"value":1}}' …"#,
    ],
    "virga records put": [
      #"echo '{"recordName":"n","recordType":"Note","fields":{"text":{"value":"Hi"}}}' | virga records put …"#,
      "virga records put --file notes.jsonl --if-unchanged …",
    ],
    "virga records delete": [
      "virga records delete note-1 --container iCloud.com.example.App --database public …",
      "virga records query --type Draft --json … | virga records delete --file - --yes …",
    ],
    "virga records history": ["virga records history note-1 --container iCloud.com.example.App --user _0a1b… …"],
    "virga records restore": [
      "virga records restore note-1 --tag 2x --container iCloud.com.example.App --user _0a1b… …"
    ],
    "virga containers list": ["virga containers list --data virga-data"],
    "virga zones list": ["virga zones list --container iCloud.com.example.App --user _0a1b… --data virga-data"],
    "virga zones create": ["virga zones create Notes --container iCloud.com.example.App --user _0a1b… …"],
    "virga zones delete": ["virga zones delete Notes --container iCloud.com.example.App --user _0a1b… …"],
    "virga stats": ["virga stats --data virga-data"],
    "virga backup": ["virga backup backup-$(date +%F) --data virga-data"],
    "virga restore": ["virga restore backup-2026-11-30 --data virga-data"],
    "virga tokens list": ["virga tokens list --data virga-data"],
    "virga tokens create": [
      "virga tokens create --container iCloud.com.example.App --name site --origin https://app.example --data virga-data"
    ],
    "virga tokens revoke": ["virga tokens revoke 5e1f… --data virga-data"],
    "virga keys list": ["virga keys list --data virga-data"],
    "virga keys add": ["virga keys add public.pem --container iCloud.com.example.App --data virga-data"],
    "virga keys remove": ["virga keys remove 9c4d… --data virga-data"],
    "virga users list": ["virga users list --container iCloud.com.example.App --data virga-data"],
    "virga users roles": [
      "virga users roles _0a1b… --container iCloud.com.example.App --data virga-data",
      "virga users roles _0a1b… --container iCloud.com.example.App --set Editor,Reviewer --data virga-data",
    ],
    "virga operator token": [
      "virga operator token",
      #"curl -H "Authorization: Bearer $(virga operator token --data virga-data)" http://127.0.0.1:8787/metrics"#,
    ],
    "virga faults show": ["virga faults show"],
    "virga faults set": [
      "virga faults set faults.json",
      #"echo '{"faults":[{"when":{"operation":"records/modify","call":1},"do":{"throttle":13}}]}' | virga faults set -"#,
    ],
    "virga faults clear": ["virga faults clear"],
    "virga export": ["virga export _0a1b… their-data --data virga-data"],
    "virga import": ["virga import their-data --user 7f2e… --data virga-data"],
    "virga completion": [
      "virga completion bash", "virga completion fish --file ~/.config/fish/completions/virga.fish",
    ],
    "virga manual": ["virga manual /usr/local/share/man/man1"],
    "virga version": ["virga version"],
    "virga erase": ["virga erase _0a1b… --data virga-data"],
  ]
}
