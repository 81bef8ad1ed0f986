import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { CommentAuthor, type TicketComment } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import {
  type Ticket,
  type TicketAttachment,
  TicketPriority,
  TicketPrioritySchema,
  TicketSchema,
  TicketStatus,
  TicketStatusSchema,
} from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { wordsOfEnum } from '../../values/filter-tokens.ts'
import type { Act } from '../acts/act.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { callRpc } from '../call/call-rpc.ts'
import { useRpc } from '../call/use-rpc.ts'
import { useRights } from '../parts/principal.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { Lines, Text } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { Age, Facts, State, Time } from '../parts/values.tsx'

const ENDED: readonly TicketStatus[] = [TicketStatus.CLOSED, TicketStatus.CANCELED]
const isLive = ({ status }: Ticket): boolean => !ENDED.includes(status)

const acts: readonly Act<Ticket>[] = [
  {
    name: 'Answer',
    rights: ['support'],
    isOffered: isLive,
    effects: () => [
      'The merchant reads the answer, and gets a callback. An internal note is for the operator only.',
    ],
    inputs: [
      { name: 'for', label: 'For', kind: 'choice', choices: ['merchant', 'internal_note'] },
      { name: 'body', label: 'Text', kind: 'lines' },
    ],
    async run({ ticketId }, { reason, operation_id, inputs }) {
      const request = {
        ticketId,
        body: inputs['body'] ?? '',
        internal: inputs['for'] === 'internal_note',
        operationId: operation_id,
      }
      await callRpc(TicketService.method.answerTicket, request, { reason })
      return undefined
    },
  },
  {
    name: 'Move',
    rights: ['support'],
    isOffered: isLive,
    effects: () => ['The ticket gets another status. The merchant gets a callback.'],
    inputs: [
      {
        name: 'status',
        label: 'Status',
        kind: 'choice',
        choices: wordsOfEnum(TicketStatusSchema).filter((word) => word !== 'open'),
      },
    ],
    async run({ ticketId }, { reason, inputs }) {
      const status = TicketStatus[(inputs['status'] ?? '').toUpperCase() as keyof typeof TicketStatus]
      await callRpc(TicketService.method.moveTicket, { ticketId, status }, { reason })
      return undefined
    },
  },
  {
    name: 'Set priority',
    rights: ['support'],
    isOffered: isLive,
    effects: () => ['The ticket gets another priority, and with it another deadline.'],
    inputs: [
      { name: 'priority', label: 'Priority', kind: 'choice', choices: wordsOfEnum(TicketPrioritySchema) },
    ],
    async run({ ticketId }, { reason, inputs }) {
      const priority = TicketPriority[(inputs['priority'] ?? '').toUpperCase() as keyof typeof TicketPriority]
      await callRpc(TicketService.method.setTicketPriority, { ticketId, priority }, { reason })
      return undefined
    },
  },
]

/** A ticket as a conversation. */
export function TicketPage(): ReactNode {
  const { ticket_id: ticketId = '' }: { readonly ticket_id?: string } = useParams({ strict: false })
  const { data, error } = useRpc(TicketService.method.getTicket, { ticketId })
  const comments = useRpc(TicketService.method.listTicketComments, { ticketId, pageSize: 100 })
  const ticket = data?.ticket
  useTitle('Ticket')
  if (ticket === undefined) return error && <ProblemNote error={error} />
  const { slaDeadlineTime, title, description, createTime, attachments } = ticket
  return (
    <>
      <header className="head">
        <h1>
          <Text>{title}</Text>
        </h1>
        <ActBar acts={acts} item={ticket} />
        {slaDeadlineTime && isLive(ticket) && (
          <p>
            deadline <Age>{slaDeadlineTime}</Age>
          </p>
        )}
      </header>
      <div className="payment">
        <section aria-label="Conversation">
          <ol className="conversation">
            <li>
              <p className="quiet">
                merchant, <Time>{createTime}</Time>
              </p>
              <Lines>{description}</Lines>
              <Files files={attachments} ticket={ticket} />
            </li>
            {comments.data?.comments.map((comment) => (
              <Comment key={comment.commentId} comment={comment} ticket={ticket} />
            ))}
          </ol>
          {comments.error !== null && <ProblemNote error={comments.error} />}
          {comments.data?.nextPageToken && <p className="quiet">There are more than 100 comments.</p>}
        </section>
        <aside>
          <h2>Details</h2>
          <Facts desc={TicketSchema} message={ticket} without={['title', 'description', 'attachments']} />
        </aside>
      </div>
    </>
  )
}

function Comment({
  comment: { author, body, createTime, internal, attachments },
  ticket,
}: {
  readonly comment: TicketComment
  readonly ticket: Ticket
}): ReactNode {
  const who = author === CommentAuthor.MERCHANT ? 'merchant' : 'operator'
  return (
    <li className={who}>
      <p className="quiet">
        {who}, <Time>{createTime}</Time> {internal && <State word="internal_note" />}
      </p>
      <Lines>{body}</Lines>
      <Files files={attachments} ticket={ticket} />
    </li>
  )
}

/** Links to files. Opening one is audited, and needs the right support or reveal. */
function Files({
  files,
  ticket: { environment, merchantId },
}: {
  readonly files: readonly TicketAttachment[]
  readonly ticket: Ticket
}): ReactNode {
  const { may } = useRights()
  const may_open = may('support') || may('reveal')
  const query = new URLSearchParams({
    environment: environment === Environment.PRODUCTION ? 'production' : 'test',
    merchant_id: merchantId,
  })
  return (
    <ul className="files">
      {files.map(({ attachmentId, name, sizeBytes }) => (
        <li key={attachmentId}>
          {may_open ? (
            <a href={`/files/${encodeURIComponent(attachmentId)}?${query}`} target="_blank" rel="noreferrer">
              <Text>{name}</Text>
            </a>
          ) : (
            <Text>{name}</Text>
          )}{' '}
          <small>{Number(sizeBytes).toLocaleString('en')} bytes</small>
        </li>
      ))}
    </ul>
  )
}
