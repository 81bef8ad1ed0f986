import type { DescMethodUnary, Message } from '@bufbuild/protobuf'
import { type ReactNode, useState } from 'react'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'

const PAGE_SIZE = 100

/** The comments of a conversation as items of a list, oldest first; those after a page are read when a person wants them. */
export function Comments<C extends Message & { readonly commentId: string }>({
  method,
  request,
  token = '',
  show,
}: {
  readonly method: DescMethodUnary
  readonly request: object
  /** Where this page begins; empty for the first one. */
  readonly token?: string
  readonly show: (comment: C) => ReactNode
}): ReactNode {
  const [shows_more, setShowsMore] = useState(false)
  const { data, error } = useRpc(method, { ...request, pageSize: PAGE_SIZE, pageToken: token } as never)
  const comments: readonly C[] = data === undefined ? [] : Reflect.get(data, 'comments')
  const next = String((data && Reflect.get(data, 'nextPageToken')) ?? '')
  return (
    <>
      {comments.map(show)}
      {error !== null && (
        <li>
          <ProblemNote error={error} />
        </li>
      )}
      {next !== '' &&
        (shows_more ? (
          <Comments method={method} request={request} token={next} show={show} />
        ) : (
          <li>
            <button type="button" onClick={() => setShowsMore(true)}>
              {PAGE_SIZE} later comments
            </button>
          </li>
        ))}
    </>
  )
}
