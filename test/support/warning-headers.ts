/** Warning headers: the texts of an answer's (RFC 7234, 5.5). */
import type { Reply } from './api-client.ts'

export function warningsOf({ headers }: Reply): string[] {
  // oxlint-disable-next-line typescript/no-explicit-any -- Node joins repeated headers in its own way
  const value = (headers as any).warning as string | string[] | undefined
  if (value === undefined) return []
  const text = Array.isArray(value) ? value.join(', ') : value
  return [...text.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, found = '']) =>
    found.replaceAll('\\"', '"'),
  )
}
