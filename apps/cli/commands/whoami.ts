import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { addCommonFlags } from '../request/common-flags.ts'
import { runVerb } from '../run-verb.ts'
import type { DeclareCommand } from './command.ts'

/** `multihub whoami`. */
export const declare: DeclareCommand = (command, terminal) => {
  addCommonFlags(command)
  const verb = { name: 'whoami', about: '', rpc: 'whoAmI' }
  command.action(() => runVerb(verb, PrincipalService, undefined, command.opts(), terminal))
}
