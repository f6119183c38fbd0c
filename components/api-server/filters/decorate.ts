/** decorate: what every answer carries: the request id, warnings, and the style the client asked for. */
import { prefersYaml } from '../negotiate.ts'
import { restyle } from '../respond.ts'
import { queryFlag } from '../request-info.ts'
import type { Answer, Filter, RequestContext } from '../request.ts'

/** Most characters of warnings in one answer, and of each once they are many (upstream: apiserver pkg/endpoints/filters/warning.go). */
const mostWarningText = 4096
const mostCutText = 256

/** RFC 7234 warn-text: quotes and backslashes escaped, control characters dropped, anything beyond ASCII as UTF-8. */
function warningHeader(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what must not reach a header
  const clean = text.replace(/[\u0000-\u001f\u007f]+/g, ' ').replace(/[\\"]/g, '\\$&')
  return `299 - "${Buffer.from(clean).toString('latin1')}"`
}

/** One header value per warning, each text once, cut so that no client chokes on them. */
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

async function styled(context: RequestContext, answer: Answer): Promise<Answer> {
  const { info, http } = context
  const isEndless = info.verb === 'watch' && !Buffer.isBuffer(answer.body)
  if (answer.headers['content-type'] !== 'application/json' || isEndless) return answer
  if (prefersYaml(http.headers['accept'])) return await restyle(answer, 'yaml', http.signal)
  if (info.query.has('pretty') && queryFlag(info.query, 'pretty')) {
    return await restyle(answer, 'pretty', http.signal)
  }
  return answer
}

export const decorate: Filter = async (context, next) => {
  const answer = await styled(context, await next(context))
  const headers: Record<string, string | string[]> = { ...answer.headers, 'audit-id': context.id }
  if (context.warnings.length > 0) {
    headers['warning'] = warningHeaders(context.warnings)
  }
  return { ...answer, headers }
}
