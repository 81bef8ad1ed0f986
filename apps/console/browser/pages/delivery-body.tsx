import { type ReactNode, useState } from 'react'
import type { GetDeliveryResponse } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { revealDelivery } from '../../forms/reveal.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { Lines } from '../parts/text.tsx'

/** The body of a callback and the beginnings of its responses, which a person can reveal with a reason. */
export function DeliveryBody({ delivery_id }: { readonly delivery_id: string }): ReactNode {
  // What was revealed stays on this page only, and is not read again: each reading is audited.
  const [revealed, setRevealed] = useState<GetDeliveryResponse>()
  if (revealed !== undefined) return <Revealed answer={revealed} />
  return <ActBar acts={[revealDelivery(setRevealed)]} item={delivery_id} is_main={false} />
}

function Revealed({ answer: { body, delivery } }: { readonly answer: GetDeliveryResponse }): ReactNode {
  const responses = delivery?.attempts.filter(({ responseStart }) => responseStart.length > 0) ?? []
  return (
    <>
      <h3>Body</h3>
      {body === undefined ? <p className="quiet">It was erased.</p> : <Bytes bytes={body} />}
      {responses.map(({ number, httpStatus, responseStart }) => (
        <section key={number}>
          <h3>
            Response to try {number}, HTTP {httpStatus}
          </h3>
          <Bytes bytes={responseStart} />
        </section>
      ))}
    </>
  )
}

function Bytes({ bytes }: { readonly bytes: Uint8Array }): ReactNode {
  const text = new TextDecoder().decode(bytes)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by the keyboard
    <pre tabIndex={0}>
      <Lines>{indented(text)}</Lines>
    </pre>
  )
}

/** JSON with its structure as lines; other text as it is. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
