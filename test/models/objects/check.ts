/** Compiled against plain: what a create does to an object of any kind, by the code that serves and by its models. */
import { schemaOf } from '../../../components/api/schemas.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import { createdFields } from '../../../components/machinery/apply/created-fields.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { decode } from '../../../components/machinery/schema/decode.ts'
import { Random } from '../../fuzz/random.ts'
import { comparedFields } from './compared-fields.ts'
import { plainBytes } from './plain-bytes.ts'
import { plainDecode } from './plain-decode.ts'
import { randomObject } from './random-object.ts'

/** Every built-in kind that is stored, in each of its versions. */
export const kinds: readonly Resource[] = resourcesOf(dialects.kubernetes).all.filter(
  ({ virtual }) => !virtual,
)

/** The fields that a create may reset. */
const resets: readonly (readonly string[])[] = [['status'], []]

/** Checks one random object of the kind; throws what differs. The seed alone decides what the object is. */
export function checkObject(resource: Resource, seed: number): void {
  const random = new Random(seed)
  const name = `${resource.package}.${resource.kind}`
  const schema = schemaOf(name)
  const value = randomObject(random, schema, { wrong: random.chance(0.2) ? 0.01 : 0 })
  const fail = (what: string, is: unknown, expected: unknown): void => {
    const shown = [is, expected].map((one) => JSON.stringify(one))
    if (shown[0] === shown[1]) return
    throw new Error(
      `${what} of ${name}, seed ${seed}: ${shown[0]} instead of ${shown[1]}, of ${JSON.stringify(value)}`,
    )
  }
  const plain = plainDecode(value, schema)
  const fresh = decode(value, schema)
  const reused = decode(structuredClone(value), schema, { mayReuse: true })
  fail('problems', reused.problems, fresh.problems)
  fail('unknown fields', fresh.problems.unknown, [...new Set(plain.unknown)].slice(0, 100))
  fail('fault', fresh.problems.fatal !== undefined, plain.isFaulty)
  if (plain.isFaulty) return
  fail('decoded', fresh.object, plain.object)
  fail('decoded in place', reused.object, plain.object)
  for (const reset of resets) {
    const owned = createdFields(schema, fresh.object, reset)
    fail('created fields', owned, comparedFields(name, fresh.object, reset))
  }
  const { kind, storageVersion } = resource
  // Its bytes are Go's: test/api-server/watch-cache/object-bytes.test.ts.
  if (kind === 'ControllerRevision') return
  const { kind: _, apiVersion: __, ...rest } = fresh.object
  const metadata = { ...rest.metadata, name: 'n', uid: 'u' }
  const object: KubeObject = { kind, apiVersion: storageVersion.apiVersion, ...rest, metadata }
  fail('stored bytes', String(encodeForStore(object)), plainBytes(object))
}
