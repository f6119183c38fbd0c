/**
 * value-plans: a custom resource is changed from a settled state, and back. The end has to be the same as for a resource that was created
 * so.
 */
import { ClusterError } from '../../cluster/cluster-error.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { brief } from '../../components/machinery/objects/differences.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { stepKinds } from '../../scenarios/engine/scenario.ts'
import { ScenarioStep } from '../../scenarios/engine/step.ts'
import type { Story } from '../story.ts'
import { changed, changesOf } from './schema-values.ts'
import type { ValueChange, ValueSchema } from './schema-values.ts'

interface CustomDefinition extends KubeObject {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly {
      readonly name: string
      readonly schema?: { readonly openAPIV3Schema?: ValueSchema }
    }[]
  }
}

/** The story's own resource of the definition. */
interface Seed {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: unknown
}

export interface ValueStories {
  /** Until the resource has been created. */
  readonly seed: Story
  readonly changes: readonly ValueChange[]
  /** As if it had been created so. */
  fresh(change: ValueChange): Story
  /** The seed, then the change, then back. */
  thereAndBack(change: ValueChange): Story
}

export function describeChange({ path, value, why }: ValueChange): string {
  const field = ['spec', ...path].join('.')
  return value === undefined ? `${field} removed` : `${field} = ${brief(value, 40)} (${why})`
}

async function definitionOf(client: Client, name: string): Promise<CustomDefinition> {
  const { customResourceDefinitions } = resourcesOf(client.dialect)
  try {
    return await client.resource<CustomDefinition>(customResourceDefinitions).get({ name })
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
    throw new ClusterError('usage', `--values: there is no CustomResourceDefinition "${name}"`, {
      hint: 'name one of the manifests of the story, such as caches.example.com',
    })
  }
}

function stepOf(name: string, params: unknown, like: ScenarioStep): ScenarioStep {
  const kind = stepKinds.find((one) => one.name === name)
  if (kind === undefined) throw new Error(`there is no step ${name}`)
  return new ScenarioStep({ kind, params, title: kind.title(params), path: like.path })
}

/** Rejects with a ClusterError for a definition that is not there, or of which the story creates nothing. */
export async function valueStories(
  client: Client,
  story: Story,
  definition: string,
): Promise<ValueStories> {
  const { spec: defined } = await definitionOf(client, definition)
  const seedOf = ({ kind, params }: ScenarioStep): Seed | undefined => {
    const [one, ...more] = kind.name === 'create' ? (params as Seed[]) : []
    const isOfKind =
      one?.kind === defined.names.kind && one.apiVersion.startsWith(`${defined.group}/`)
    return isOfKind && more.length === 0 ? one : undefined
  }
  const at = story.steps.findIndex((step) => seedOf(step) !== undefined)
  const create = story.steps[at]
  const seed = create && seedOf(create)
  if (create === undefined || seed === undefined)
    throw new ClusterError('usage', `no step of ${story.file} creates a ${defined.names.kind}`, {
      hint: 'add a create step with a resource to begin with',
    })
  const version = defined.versions.find(({ name }) => seed.apiVersion.endsWith(`/${name}`))
  const schema = version?.schema?.openAPIV3Schema?.properties?.['spec'] ?? {}
  const before = story.steps.slice(0, at)
  const replaced = (spec: unknown): ScenarioStep => {
    const { kind, apiVersion, metadata } = seed
    const { name, namespace } = metadata
    const patch = [{ op: 'replace', path: '/spec', value: spec }]
    return stepOf(
      'patch',
      {
        kind,
        apiVersion,
        name,
        ...(namespace === undefined ? {} : { namespace }),
        type: 'json',
        patch,
      },
      create,
    )
  }
  return {
    seed: { ...story, steps: [...before, create] },
    changes: changesOf(schema, seed.spec ?? {}),
    fresh: (change) => ({
      ...story,
      steps: [
        ...before,
        stepOf('create', [{ ...seed, spec: changed(seed.spec ?? {}, change) }], create),
      ],
    }),
    thereAndBack: (change) => ({
      ...story,
      steps: [
        ...before,
        create,
        replaced(changed(seed.spec ?? {}, change)),
        replaced(seed.spec ?? {}),
      ],
    }),
  }
}
