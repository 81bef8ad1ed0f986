import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type SearchResponse, SearchService } from '#gen/multihub/backoffice/v1/search_service_pb.ts'
import { addressOf } from '../../values/addresses.ts'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { RowList } from '../parts/row-list.tsx'
import { Id, PageLink, Text } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { Time } from '../parts/values.tsx'

const PAGE_SIZE = 100

/** What a whole identifier names, whatever kind of identifier it is. */
export function SearchPage(): ReactNode {
  const { q = '' }: { readonly q?: string } = useSearch({ strict: false })
  // The text can be personal data, which the history of the browser must not have as a title.
  useTitle('Search')
  const { data, error, isFetching } = useRpc(
    SearchService.method.search,
    { text: q, pageSize: PAGE_SIZE },
    // A search for a person is audited, so it is made once.
    { enabled: q !== '', is_once: true },
  )
  return (
    <>
      <h1>Search</h1>
      {error !== null && <ProblemNote error={error} />}
      {data === undefined && isFetching && <p className="quiet">Asking all roles…</p>}
      {data !== undefined && <Found q={q} {...data} />}
      {q === '' && (
        <p>
          Press <kbd>/</kbd> and write one whole identifier: c_id, h_id, p_id, UTR, a request id or any other
          id, or the beginning of a merchant's name. With the right reveal also an e-mail, a phone or an
          account number.
        </p>
      )}
    </>
  )
}

function Found({
  q,
  references,
  unavailable,
  nextPageToken,
}: Pick<SearchResponse, 'references' | 'unavailable' | 'nextPageToken'> & { readonly q: string }): ReactNode {
  return (
    <>
      {unavailable.length > 0 && (
        <p className="note waiting">{unavailable.join(', ')} did not answer: what it knows is missing.</p>
      )}
      {references.length === 0 && (
        <p>
          Nothing has the identifier <Text>{q}</Text>. A search finds whole identifiers only, and merchants by
          the beginning of their name.
        </p>
      )}
      {references.length > 0 && (
        <RowList
          caption={`${references.length}${nextPageToken === '' ? '' : ' or more'} found`}
          heads={['Kind', 'What', 'Id', 'Merchant', 'Created']}
          rows={withPageFirst(references).map(({ kind, id, title, merchantId, time }) => {
            const address = addressOf(kind, id) ?? addressOf('merchant', merchantId)
            return {
              key: `${kind} ${id}`,
              address,
              cells: [
                kind.replaceAll('_', ' '),
                address === undefined ? (
                  <Text key="title">{title}</Text>
                ) : (
                  <PageLink key="title" to={address}>
                    <Text>{title}</Text>
                  </PageLink>
                ),
                <Id key="id" kind={kind}>
                  {id}
                </Id>,
                merchantId !== '' && (
                  <Id key="merchant" kind="merchant">
                    {merchantId}
                  </Id>
                ),
                <Time key="time">{time}</Time>,
              ],
            }
          })}
        />
      )}
    </>
  )
}

/** What has a page of its own comes before what only leads to its merchant. */
function withPageFirst(references: SearchResponse['references']): SearchResponse['references'] {
  const rank = ({ kind, id }: (typeof references)[number]): number =>
    addressOf(kind, id) === undefined ? 1 : 0
  return references.toSorted((a, b) => rank(a) - rank(b))
}
