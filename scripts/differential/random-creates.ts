/** Random creates of every kind, as dry runs: objects of test/e2e/every-kind.yaml with something odd in a few places. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { schemaOf } from '../../components/api/schemas.ts'
import { apiVersionOf, type Resource } from '../../components/machinery/objects/resource.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { mutated } from '../../test/fuzz/odd-objects.ts'
import { Random } from '../../test/fuzz/random.ts'
import type { Request } from '../bench/load.ts'

export interface Create {
  readonly kind: string
  readonly object: unknown
  readonly request: Request
}

interface Sample {
  readonly resource: Resource
  readonly object: KubeObject
}

const file = join(import.meta.dirname, '../../test/e2e/every-kind.yaml')
const { all } = resourcesOf(dialects.kubernetes)

const samples: readonly Sample[] = loadAll(readFileSync(file, 'utf8')).flatMap((object) => {
  const { kind, apiVersion } = object as KubeObject
  const resource = all.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion)
  return resource === undefined ? [] : [{ resource, object: object as KubeObject }]
})

function pathOf({ group, version, plural, namespaced }: Resource): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${namespaced ? '/namespaces/default' : ''}/${plural}`
}

/** One of each kind; the seed alone decides what is odd in it. Seed 0: nothing is. */
export function createsOf(seed: number): Create[] {
  return samples.map(({ resource, object }, index) => {
    const random = new Random(seed * 1000 + index)
    const schema = schemaOf(`${resource.package}.${resource.kind}`)
    const named = structuredClone(object)
    named.metadata.name = 'one'
    const odd = seed === 0 ? named : (mutated(random, named, schema) as KubeObject)
    const { kind, apiVersion } = object
    // Odd metadata ends most requests before anything looks at the rest.
    // A name of the server's making differs from server to server.
    const given = { ...odd.metadata, generateName: undefined }
    const metadata = random.chance(0.9) ? named.metadata : given
    const sent = { ...odd, kind, apiVersion, metadata }
    const validation = random.pick(['Strict', 'Warn', 'Ignore'])
    const query = `dryRun=All&fieldManager=differential&fieldValidation=${validation}`
    const path = `${pathOf(resource)}?${query}`
    const body = Buffer.from(JSON.stringify(sent))
    return { kind: kind ?? '', object: sent, request: { method: 'POST', path, body } }
  })
}
