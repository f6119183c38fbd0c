/** apply: creates objects, or merges the manifests into existing ones. */
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import { describeObject, placed } from '../find-resource.ts'
import { manifest, oneOrMore } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

export const apply = defineStep({
  name: 'apply',
  summary: 'Create an object, or a list of them, or merge them into those that exist.',
  shape: oneOrMore(manifest),
  title: (objects) => `apply ${objects.map(describeObject).join(', ')}`,
  run: async (objects, { client, findResource, signal, namespace: fallback }) => {
    for (const written of objects) {
      const { kind, apiVersion } = written as { kind: string; apiVersion?: string }
      const resource = await findResource({ kind, apiVersion })
      const object = placed(resource, written, fallback)
      const { namespace, name = '' } = object.metadata
      const verbs = client.resource(resource)
      try {
        await verbs.create(object, { signal })
      } catch (error) {
        if (!isStatusError(error, 'AlreadyExists')) throw error
        await verbs.patch({ namespace, name }, object, { type: 'merge', signal })
      }
    }
  },
})
