import { useEffect } from 'react'
import { cleanText } from '#lib/contract/clean-text.ts'

/** Names the page in the browser's tab and history. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${cleanText(title)} · Multihub`
  }, [title])
}
