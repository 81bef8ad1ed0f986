import { postCallback } from './post-callback.ts'
import { type EventLoad, measureUse, newReference, receiverUrls, runLoad } from './sender.ts'

/**
 * The smallest sender of callbacks: it signs a body with the three signatures and posts it. It stores nothing, so a crash
 * loses callbacks, and it tries once.
 */
const urlOf = receiverUrls()

const send = (load: EventLoad): Promise<void> =>
  runLoad(load, (number, receiver) => postCallback(urlOf(receiver), newReference(number)))

process.on('message', (load: EventLoad) => {
  void measureUse(() => send(load)).then((report) => process.send?.(report))
})
process.send?.('ready')
