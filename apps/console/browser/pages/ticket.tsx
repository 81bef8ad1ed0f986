import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { CommentAuthor, type TicketComment } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import { type Ticket, type TicketAttachment, TicketSchema } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { isLive, ticket_acts } from '../../forms/tickets.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { useRpc } from '../call/use-rpc.ts'
import { useRights } from '../parts/principal.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { Lines, Text } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { Age, Facts, State, Time } from '../parts/values.tsx'
import { Comments } from './comments.tsx'
import { PaymentSummary } from './payment-summary.tsx'

/** A ticket as a conversation. */
export function TicketPage(): ReactNode {
  const { ticket_id: ticketId = '' }: { readonly ticket_id?: string } = useParams({ strict: false })
  const { data, error } = useRpc(TicketService.method.getTicket, { ticketId })
  const ticket = data?.ticket
  useTitle('Ticket')
  if (ticket === undefined)
    return error === null ? <p className="quiet">Reading…</p> : <ProblemNote error={error} />
  const { slaDeadlineTime, title, description, createTime, attachments } = ticket
  return (
    <>
      <header className="head">
        <h1>
          <Text>{title}</Text>
        </h1>
        <ActBar acts={ticket_acts} item={ticket} />
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
            <Comments
              key={ticketId}
              method={TicketService.method.listTicketComments}
              request={{ ticketId }}
              show={(comment: TicketComment) => (
                <Comment key={comment.commentId} comment={comment} ticket={ticket} />
              )}
            />
          </ol>
        </section>
        <aside>
          <h2>Details</h2>
          <Facts desc={TicketSchema} message={ticket} without={['title', 'description', 'attachments']} />
          {ticket.payment && <PaymentSummary payment_id={ticket.payment.paymentId} />}
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
      {files.map(({ attachmentId, name, sizeBytes, hasFormulas }) => (
        <li key={attachmentId}>
          {may_open ? (
            <a href={`/files/${encodeURIComponent(attachmentId)}?${query}`} target="_blank" rel="noreferrer">
              <Text>{name}</Text>
            </a>
          ) : (
            <Text>{name}</Text>
          )}{' '}
          <small>{Number(sizeBytes).toLocaleString('en')} bytes</small>
          {hasFormulas && <strong> has formulas: open it as text</strong>}
        </li>
      ))}
    </ul>
  )
}
