/** create: creates objects; one that exists already is a failure. */
import { describeObject, placed } from '../find-resource.ts'
import { manifest, oneOrMore } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

export const create = defineStep({
  name: 'create',
  summary: 'Create an object, or a list of them.',
  shape: oneOrMore(manifest),
  title: (objects) => `create ${objects.map(describeObject).join(', ')}`,
  run: async (objects, { client, findResource, signal, namespace }) => {
    for (const object of objects) {
      const { kind, apiVersion } = object as { kind: string; apiVersion?: string }
      const resource = await findResource({ kind, apiVersion })
      await client.resource(resource).create(placed(resource, object, namespace), { signal })
    }
  },
})
