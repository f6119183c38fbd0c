/** decorate: what every answer carries: the request id, warnings, and the style the client asked for. */
import { restyle } from '../respond.ts'
import { queryFlag } from '../request-info.ts'
import type { Answer, Filter, RequestContext } from '../request.ts'

/** RFC 7234 warn-text: quotes and backslashes escaped, control characters dropped. */
function warningHeader(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what must not reach a header
  const clean = text.replace(/[\u0000-\u001f\u007f]+/g, ' ').replace(/[\\"]/g, '\\$&')
  return `299 - "${clean}"`
}

function wantsYaml(context: RequestContext): boolean {
  const accept = context.http.headers['accept']
  if (typeof accept !== 'string' || !accept.includes('yaml')) return false
  const json = accept.indexOf('application/json')
  const yaml = accept.indexOf('application/yaml')
  return yaml >= 0 && (json < 0 || yaml < json)
}

function styled(context: RequestContext, answer: Answer): Answer {
  const type = answer.headers['content-type']
  if (type !== 'application/json') return answer
  if (wantsYaml(context)) return restyle(answer, 'yaml')
  if (context.info.query.has('pretty') && queryFlag(context.info.query, 'pretty')) {
    return restyle(answer, 'pretty')
  }
  return answer
}

export const decorate: Filter = async (context, next) => {
  const answer = styled(context, await next(context))
  const headers: Record<string, string | string[]> = { ...answer.headers, 'audit-id': context.id }
  if (context.warnings.length > 0) {
    headers['warning'] = [...new Set(context.warnings)].map(warningHeader)
  }
  return { ...answer, headers }
}
