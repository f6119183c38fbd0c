/** DefaultBinder: tells the API server a pod's node through the binding sub-resource (upstream: plugins/defaultbinder). */
import type { Pod } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Handle, PluginWith } from '../plugin.ts'

export function defaultBinder({ client }: Pick<Handle, 'client'>): PluginWith<'bind'> {
  const pods = client.resource<Pod>(resourcesOf(client.dialect).pods)
  return {
    name: 'DefaultBinder',
    async bind({ pod, uid }, nodeName) {
      const { namespace = '', name = '' } = pod.metadata
      await pods.createSubresource({ namespace, name }, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { namespace, name, uid },
        target: { kind: 'Node', name: nodeName },
      })
    },
  }
}
