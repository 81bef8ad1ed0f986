import type { ReactNode } from 'react'
import { addressOf } from '../../values/addresses.ts'
import { problemOf, type Repetition } from '../../values/problem.ts'
import { Id, PageLink, Text } from './text.tsx'

/** What failed: its code, what to do next, and the request that the logs know. */
export function ProblemNote({
  error,
  repetition,
}: {
  readonly error: unknown
  /** What it does to send the failed call again; by default it changes nothing. */
  readonly repetition?: Repetition
}): ReactNode {
  const { code, message, next_step, request_id, approval_id, field, wanted } = problemOf(error, repetition)
  const approval = addressOf('approval', approval_id)
  return (
    <div role="alert" className={approval_id === '' ? 'note bad' : 'note waiting'}>
      <strong>
        <Text>{message}</Text>
      </strong>{' '}
      {field !== '' && <Text>{wanted === '' ? `${field}.` : `${field}: ${wanted}.`}</Text>}{' '}
      {approval && <PageLink to={approval}>Show the approval.</PageLink>} {next_step}{' '}
      <small>
        code {code}
        {request_id !== '' && (
          <>
            , request <Id>{request_id}</Id>
          </>
        )}
      </small>
    </div>
  )
}
