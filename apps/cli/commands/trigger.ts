import { CallbackService } from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { addCommonFlags } from '../request/common-flags.ts'
import { addFieldFlags } from '../request/flags.ts'
import { runVerb } from '../run-verb.ts'
import type { DeclareCommand } from './command.ts'

const VERB = { name: 'trigger', about: '', rpc: 'triggerEvent', id: 'event' }

/** `multihub trigger EVENT`: makes an event of a test environment happen, and prints the ids of all that it made. */
export const declare: DeclareCommand = (command, terminal) => {
  command.argument('<EVENT>', 'the name of a callback, such as payment.completed')
  addFieldFlags(command, CallbackService.method.triggerEvent, VERB)
  command
    .option('--currency <code>', 'the currency of --amount, when the amount does not name it')
    .option('--reason <text>', 'why; it goes into the audit trail')
  addCommonFlags(command)
  command.action((event: string) => runVerb(VERB, CallbackService, event, command.opts(), terminal))
}
