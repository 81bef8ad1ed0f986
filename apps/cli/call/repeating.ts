import type { DescMessage, Message } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { CommandError, type Terminal } from '../terminal.ts'

/** The statuses after which the server may have acted all the same. */
const UNCLEAR: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.Canceled,
  Code.Internal,
  Code.Unknown,
])

const INTERRUPTED = 130

/**
 * Makes a call that is done once per operation id. When its answer is lost, also because the person interrupts it, the person learns the
 * id with which the same command does nothing twice.
 */
export async function sayingHowToRepeat<T>(
  { fields }: DescMessage,
  request: Message,
  { stderr }: Terminal,
  call: () => Promise<T>,
): Promise<T> {
  if (!fields.some(({ name }) => name === 'operation_id')) return call()
  const how = `it may have been done: repeat it with --operation-id ${Reflect.get(request, 'operationId')}, then it is done once`
  const onInterrupt = (): void => {
    stderr.write(`\n${how}\n`)
    process.exit(INTERRUPTED)
  }
  process.once('SIGINT', onInterrupt)
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof CommandError) || !isUnclear(error)) throw error
    const { exit_code, error_code, message } = error
    const options = { cause: error, ...(error_code !== undefined && { error_code }) }
    throw new CommandError(exit_code, `${message}\n${how}`, options)
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}

function isUnclear({ cause }: CommandError): boolean {
  return cause instanceof ConnectError && UNCLEAR.has(cause.code)
}
