import VirgaAuth
import VirgaServer

extension FieldKey: FieldCipher {}
