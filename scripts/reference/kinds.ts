/** The page of the kinds: what acts on the objects of each. */
import { dialects } from '../../components/api/dialect.ts'
import { kindActors } from '../../components/api/kind-actors.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { controllers } from '../../components/controller-manager/controllers.ts'
import { absentControllers } from '../../components/controller-manager/upstream-controllers.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import { code, codes, escaped, page, table } from './markdown.ts'

/** Controllers that run, and other parts; or why nothing acts. */
function actorsOf(prefix: string): string {
  const actors = kindActors.get(prefix)
  const running = new Set(controllers.map(({ name }) => name))
  const named = (actors?.controllers ?? []).filter((name) => running.has(name)).map(code)
  const acting = [...named, ...(actors?.parts ?? []).map(escaped)]
  if (acting.length > 0) return acting.join('; ')
  if (actors?.missing !== undefined) return `**nothing**: ${escaped(actors.missing)}`
  return `stored only: ${escaped(actors?.storedOnly ?? '')}`
}

export function kindsPage(): string {
  const byPrefix = new Map<string, Resource[]>()
  for (const resource of resourcesOf(dialects.kubernetes).all) {
    const versions = byPrefix.get(resource.storagePrefix) ?? []
    byPrefix.set(resource.storagePrefix, [...versions, resource])
  }
  const kinds = [...byPrefix].toSorted(([, [a]], [, [b]]) =>
    (a?.kind ?? '') < (b?.kind ?? '') ? -1 : 1,
  )
  return page(
    'What acts on each kind',
    'Names in code style are controllers, as `--controllers` takes them. The garbage collector deletes dependents of any kind, the ' +
      'namespace controller everything in a deleted namespace, and webhooks and admission policies can concern any kind.',
    'Creating an object of a kind that says **nothing** answers with a warning, and an Event says the same of the object.',
    table(
      ['kind', 'versions', 'what acts on it'],
      kinds.map(([prefix, versions]) => [
        versions[0]?.kind ?? '',
        codes(versions.map(apiVersionOf)),
        actorsOf(prefix),
      ]),
    ),
    '## Controllers of upstream that do not run',
    '`--controllers` accepts their names; the log says why they do not run.',
    table(
      ['controller', 'why'],
      absentControllers(controllers).map(({ name, why }) => [code(name), escaped(why)]),
    ),
  )
}
