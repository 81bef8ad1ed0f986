import { type CallSlot, currentRequest, withRequest } from '#lib/base/context.ts'
import { level } from './metrics.ts'

const slots_in_use = level(
  'multihub_call_slots_in_use',
  'Public requests and RPCs that this process works on, of 10,000 each. Those that wait for their caller, for another role or for a provider are not counted: more processes would not shorten that.',
  ['calls'],
)

const IN_USE = { public: slots_in_use.of({ calls: 'public' }), rpc: slots_in_use.of({ calls: 'rpc' }) }

/**
 * Runs a call of a kind in a slot. Autoscalers read how many slots are in use, so `waitOutside` frees the slot while the call waits
 * for somebody else.
 */
export async function inCallSlot<T>(calls: keyof typeof IN_USE, work: () => Promise<T>): Promise<T> {
  const in_use = IN_USE[calls]
  const slot: CallSlot = { in_use, waits: 0, is_over: false }
  in_use.value += 1
  try {
    return await withRequest({ ...currentRequest(), slot }, work)
  } finally {
    slot.is_over = true
    if (slot.waits === 0) in_use.value -= 1
  }
}

/**
 * Runs work that waits for another process: a caller that sends its body, another role, a provider. Meanwhile the present call, if
 * there is one, uses no slot, so a provider that hangs makes no process look busy.
 */
export async function waitOutside<T>(work: () => Promise<T>): Promise<T> {
  const slot = currentRequest()?.slot
  if (slot === undefined || slot.is_over) return await work()
  if (slot.waits === 0) slot.in_use.value -= 1
  slot.waits += 1
  try {
    return await work()
  } finally {
    slot.waits -= 1
    if (slot.waits === 0 && !slot.is_over) slot.in_use.value += 1
  }
}
