import { nextTurn } from './time.ts'

type ItemResult<Result> = { readonly value: Result } | { readonly error: unknown }

interface GatherOptions<Item, Result> {
  /** Whether an item may join a batch, which is not empty. */
  readonly fits: (batch: readonly Item[], item: Item) => boolean
  /** Sends a batch. The results are in the order of its items. What it throws concerns all of them. */
  readonly send: (batch: readonly Item[]) => Promise<readonly ItemResult<Result>[]>
  /** Most batches under way; further ones wait, and take more items meanwhile. No limit unless given. */
  readonly in_flight_max?: number
}

/**
 * Gathers the items that come in one turn of the event loop, and further ones while a batch waits: each joins the first batch
 * that it fits. Each caller gets the result of its own item: also a result that `send` leaves out is an error for that item only.
 */
export function createGatherer<Item, Result>({
  fits,
  send,
  in_flight_max = Number.POSITIVE_INFINITY,
}: GatherOptions<Item, Result>) {
  type Waiting = PromiseWithResolvers<Result>
  const batches: { readonly items: Item[]; readonly waiting: Waiting[] }[] = []
  let in_flight = 0

  async function sendBatch(items: readonly Item[], waiting: readonly Waiting[]): Promise<void> {
    try {
      const results = await send(items)
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const result = results[index] ?? { error: new TypeError('a batch left out the result of an item') }
        if ('value' in result) resolve(result.value)
        else reject(result.error)
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    } finally {
      in_flight -= 1
      sendReady()
    }
  }

  function sendReady(): void {
    while (in_flight < in_flight_max) {
      const next = batches.shift()
      if (next === undefined) return
      in_flight += 1
      void sendBatch(next.items, next.waiting)
    }
  }

  return (item: Item): Promise<Result> => {
    const result = Promise.withResolvers<Result>()
    if (batches.length === 0) nextTurn(sendReady)
    const open = batches.find(({ items }) => fits(items, item))
    if (open === undefined) batches.push({ items: [item], waiting: [result] })
    else {
      open.items.push(item)
      open.waiting.push(result)
    }
    return result.promise
  }
}
