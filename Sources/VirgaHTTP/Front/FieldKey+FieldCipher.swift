import VirgaAuth
import VirgaServer

extension FieldKey: FieldCipher {}
extension TokenKey: FieldCipher {}
