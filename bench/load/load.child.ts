import { type LoadOrder, load } from './load.ts'

/** The load client as a process of its own: orders come from the parent, reports go back. */
process.on('message', (order: LoadOrder) => {
  load(order).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      process.send?.({ error: String(error) })
    },
  )
})
process.send?.('ready')
