import type { Message } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { clock, sleep } from '#lib/base/time.ts'
import { toCallerError } from '#lib/rpc/errors.ts'
import type { MerchantSource, OperatorRpc } from '../domain/operator-rpcs.ts'
import type { CallOwner } from './call-owner.ts'
import { fieldsOf, idOf } from './message-fields.ts'
import { notFound } from './not-found.ts'

/** A refusal is answered at the next multiple of this time, which is longer than the reads that it depends on. */
const STEP_MS = 50

/**
 * Does a call of a principal of a merchant, which sees this merchant only (O2): a merchant left out of the request becomes its
 * own, and what a merchant does not see is left out (`as_merchant`). What belongs to another merchant is refused like what does
 * not exist, in content and in time. So a list that names something waits too, because its owner may read what it then leaves out.
 */
export async function withinMerchant(
  {
    rpc,
    request,
    merchant_id,
  }: { readonly rpc: OperatorRpc; readonly request: Message; readonly merchant_id: string },
  callOwner: CallOwner,
  run: () => Promise<Message>,
): Promise<Message> {
  const started_ms = clock.monotonic_ms()
  const { merchant } = rpc
  const is_stepped = merchant?.from === 'request' && namesSomething(request)
  try {
    if (rpc.method.input.field['asMerchant'] !== undefined) Reflect.set(request, 'asMerchant', true)
    if (merchant === undefined || !(await isOwn(merchant, request, merchant_id, callOwner))) throw notFound()
    const answer = await run()
    if (merchant.from === 'answer' && merchantIn(answer, merchant.field) !== merchant_id) throw notFound()
    if (is_stepped) await awaitStep(started_ms)
    return answer
  } catch (error) {
    const is_unknown = toCallerError(error).code === Code.NotFound
    if (is_unknown || is_stepped) await awaitStep(started_ms)
    throw is_unknown ? notFound() : error
  }
}

/** Whether a request has an id besides the merchant's. */
function namesSomething(request: Message): boolean {
  return Object.entries(fieldsOf(request)).some(([name, value]) => {
    if (!/Ids?$/.test(name) || name === 'merchantId' || name === 'operationId') return false
    return Array.isArray(value) ? value.length > 0 : String(value) !== '' && String(value) !== '0'
  })
}

/** Waits until the next multiple of 50 ms since a start, so that the time of an answer does not show what was read for it (O2). */
export async function awaitStep(started_ms: number): Promise<void> {
  const elapsed_ms = clock.monotonic_ms() - started_ms
  await sleep(STEP_MS - (elapsed_ms % STEP_MS))
}

/** Whether the request is about the merchant, as far as that shows before the call. */
async function isOwn(
  source: MerchantSource,
  request: Message,
  merchant_id: string,
  callOwner: CallOwner,
): Promise<boolean> {
  switch (source.from) {
    case 'answer':
    case 'principal':
      return true
    case 'request': {
      const asked = idOf(request, 'merchantId')
      if (asked === '') Reflect.set(request, 'merchantId', merchant_id)
      return asked === '' || asked === merchant_id
    }
    case 'look-up': {
      const found = await callOwner(source.find, { [source.id]: Reflect.get(request, source.id) })
      return merchantIn(found, source.field) === merchant_id
    }
    case 'own list': {
      const listed = fieldsOf(await callOwner(source.list, { merchantId: merchant_id }))[source.field]
      const id = idOf(request, source.id)
      return Array.isArray(listed) && listed.some((one: Message) => idOf(one, source.id) === id)
    }
  }
}

/** The merchant of a message in an answer. */
function merchantIn(answer: Message, field: string): string | undefined {
  const part = fieldsOf(answer)[field]
  return typeof part === 'object' && part !== null ? idOf(part as Message, 'merchantId') : undefined
}
