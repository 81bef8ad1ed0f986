import { expect, test } from '@jest/globals'
import { createMemoryBus } from './memory.ts'
import { withSubjectPrefix } from './open.ts'

test('systems with different prefixes on one bus do not receive messages of each other', async () => {
  const shared = createMemoryBus()
  const [alpha, beta] = [withSubjectPrefix(shared, 'alpha'), withSubjectPrefix(shared, 'beta')]
  const received: string[] = []
  const subscriptions = await Promise.all([
    alpha.subscribe('events.>', ({ subject }) => void received.push(`alpha got ${subject}`), {
      queue_group: 'notifier',
    }),
    beta.subscribe('events.>', ({ subject }) => void received.push(`beta got ${subject}`), {
      queue_group: 'notifier',
    }),
  ])
  for (let count = 0; count < 5; count += 1) await alpha.publish('events.paid', new Uint8Array())
  await beta.publish('events.failed', new Uint8Array())
  await Promise.all(subscriptions.map((subscription) => subscription.close()))
  expect(received.toSorted()).toEqual([...Array(5).fill('alpha got events.paid'), 'beta got events.failed'])
})
