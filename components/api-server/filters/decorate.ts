/** decorate: adds the request id and warnings to every answer, and encodes plain JSON as the client accepts it. */
import type { Filter } from '../request/request.ts'
import { reformed } from '../codec/respond.ts'
import { isLongRunning } from '../request/long-running.ts'

/**
 * The most characters of warnings in one answer, and of one warning once they are too many (upstream: apiserver
 * pkg/endpoints/filters/warning.go).
 */
const mostWarningText = 4096
const mostCutText = 256

/** RFC 7234 warn-text: quotes and backslashes escaped, control characters dropped, anything beyond ASCII as UTF-8. */
function warningHeader(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what must not reach a header
  const clean = text.replace(/[\u0000-\u001f\u007f]+/g, ' ').replace(/[\\"]/g, '\\$&')
  return `299 - "${Buffer.from(clean).toString('latin1')}"`
}

/** One header value per distinct warning, within the length that clients accept. */
function warningHeaders(warnings: readonly string[]): string[] {
  const headers: string[] = []
  let length = 0
  for (const warning of new Set(warnings)) {
    const fits = length + warning.length <= mostWarningText
    const text = fits ? warning : warning.slice(0, mostCutText)
    length += text.length
    if (length > mostWarningText) break
    headers.push(warningHeader(text))
  }
  return headers
}

export const decorate: Filter = async (context, next) => {
  const made = await next(context)
  // Answers of other servers are passed on unchanged.
  const isFinal = 'isFormed' in made || (isLongRunning(context) && made.status < 400)
  const answer = isFinal ? made : await reformed(made, context)
  const headers: Record<string, string | string[]> = {
    ...answer.headers,
    'audit-id': context.id,
    ...context.answerHeaders,
  }
  if (context.warnings.length > 0) {
    headers['warning'] = warningHeaders(context.warnings)
  }
  return { ...answer, headers }
}
