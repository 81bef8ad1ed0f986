import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { GetTimelineResponseSchema } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { printTimeline } from './timeline.ts'

function printed(timeline: Parameters<typeof create<typeof GetTimelineResponseSchema>>[1]): string {
  let text = ''
  const output = { write: (more: string) => (text += more) }
  printTimeline(output, create(GetTimelineResponseSchema, timeline), false)
  return text
}

test('what comes next is not known while a role does not answer', () => {
  expect(printed({ unavailable: ['support', 'notifier'] })).toBe(
    'next  not known: support, notifier did not answer\n' +
      'support did not answer: its rows and next steps are missing\n' +
      'notifier did not answer: its rows and next steps are missing\n',
  )
})

test('nothing comes next when all roles have answered', () => {
  expect(printed({})).toBe('next  nothing\n')
})
