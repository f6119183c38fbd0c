/** Verbs that requests have: a role with any other one allows nothing (upstream: Authorization Overview, request verbs). */
import { nearestName } from '../../components/component-base/flags.ts'

const known: Readonly<Record<'resource' | 'path', readonly string[]>> = {
  // From `bind` on they are asked about besides the request itself.
  resource: (
    'get list watch create update patch delete deletecollection proxy ' +
    'bind escalate impersonate use approve sign attest unsafe-delete-ignore-read-errors'
  ).split(' '),
  // The methods of HTTP.
  path: 'get head post put patch delete options'.split(' '),
}
/** What is meant by the verb of the other kind. */
const translated: Readonly<Record<'resource' | 'path', Readonly<Record<string, string>>>> = {
  resource: { post: 'create', put: 'update', head: 'get' },
  path: { list: 'get', watch: 'get', create: 'post', update: 'put' },
}

/** What is wrong with a verb that no request has; undefined for one that some has. */
export function verbFault(verb: string, kind: 'resource' | 'path'): string | undefined {
  const verbs = known[kind]
  if (verb === '*' || verbs.includes(verb)) return undefined
  const meant =
    translated[kind][verb] ??
    verbs.find((one) => one === verb.toLowerCase()) ??
    nearestName(verb, verbs)
  const hint = meant === undefined ? `the verbs are ${verbs.join(', ')}` : `did you mean ${meant}?`
  return `no request has the verb "${verb}": ${hint}`
}
