/** Lesson place: what a lesson needs of a cluster. */
import type { Resources } from '../../components/api/resources.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { createFindResource } from '../../scenarios/engine/find-resource.ts'
import type { FindResource } from '../../scenarios/engine/find-resource.ts'
import type { ComponentStates } from './component-states.ts'

export interface LessonPlace {
  /** The viewer's client: checks see what the viewer may see. */
  readonly client: Client
  readonly resources: Resources
  readonly findResource: FindResource
  /** Absent: the supervisor cannot be asked. */
  readonly components?: ComponentStates | undefined
  /** Predefined variables beside those of scenarios: `cluster` (the name for `--name`), `server`, `caHash`. */
  readonly variables: Readonly<Record<string, unknown>>
}

export interface LessonPlaceOptions extends Pick<LessonPlace, 'client' | 'components'> {
  /** The name for `--name`. */
  readonly name: string
  /** The pin of the cluster's CA; absent where it is not known. */
  readonly caHash?: string | undefined
}

export function lessonPlace({ client, components, name, caHash }: LessonPlaceOptions): LessonPlace {
  const resources = resourcesOf(client.dialect)
  return {
    client,
    resources,
    findResource: createFindResource(resources, client),
    components,
    variables: {
      cluster: name,
      server: client.rest.server,
      ...(caHash === undefined ? {} : { caHash }),
    },
  }
}
