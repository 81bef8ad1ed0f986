import type { DescMethodUnary, Message } from '@bufbuild/protobuf'
import { UNCLEAR_CODES } from '#lib/contract/unclear-codes.ts'
import { CommandError, type Terminal } from '../terminal.ts'
import { RpcError } from './connect-protocol.ts'

const INTERRUPTED = 130

/** Whether an RPC changes nothing, by its name. */
export function isRead({ localName }: Pick<DescMethodUnary, 'localName'>): boolean {
  return /^(?:get|list|find|search|explain|export|preview|whoAmI|verifyAudit)/.test(localName)
}

/**
 * Makes a call. When the answer of an act is lost, also because the person interrupts it, the person learns that it may have been done,
 * and the operation id with which the same command does nothing twice.
 *
 * @param instead what the person learns instead, once that is known
 */
export async function sayingHowToRepeat<T>(
  method: DescMethodUnary,
  request: Message,
  { stderr }: Terminal,
  call: () => Promise<T>,
  instead: () => string | undefined = () => undefined,
): Promise<T> {
  if (isRead(method)) return call()
  const has_id = method.input.fields.some(({ name }) => name === 'operation_id')
  const unclear = has_id
    ? `it may have been done: repeat it with --operation-id ${Reflect.get(request, 'operationId')}, then it is done once`
    : 'it may have been done: look before you repeat it'
  const onInterrupt = (): void => {
    stderr.write(`\n${instead() ?? unclear}\n`)
    process.exit(INTERRUPTED)
  }
  process.once('SIGINT', onInterrupt)
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof CommandError) || !isUnclear(error)) throw error
    const { exit_code, error_code, message } = error
    const options = { cause: error, ...(error_code !== undefined && { error_code }) }
    throw new CommandError(exit_code, `${message}\n${instead() ?? unclear}`, options)
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}

function isUnclear({ cause }: CommandError): boolean {
  return cause instanceof RpcError && !cause.is_unsent && UNCLEAR_CODES.has(cause.code)
}
