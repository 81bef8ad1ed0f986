import { type Load, sendLoad } from './load.ts'

/** The process of the load client: receives loads from its parent and replies with reports. */
process.on('message', (load: Load) => {
  sendLoad(load).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      process.send?.({ error: String(error) })
    },
  )
})
process.send?.('ready')
