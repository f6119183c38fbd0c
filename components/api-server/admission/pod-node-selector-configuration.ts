/** The configuration of PodNodeSelector: node selectors by namespace, and the cluster's default (upstream: plugin/pkg/admission/podnodeselector). */
import { struct, texts } from '../../machinery/configuration/config-schema.ts'
import {
  ConfigurationError,
  readUnversioned,
} from '../../machinery/configuration/read-configuration.ts'
import { selectorLabels } from './pod-node-selector.ts'

const schema = struct('pluginConfig', { podNodeSelectorPluginConfig: texts })

interface RawConfiguration {
  readonly podNodeSelectorPluginConfig?: Readonly<Record<string, string>>
}

/** Throws ConfigurationError, also for a selector that is not `key=value,key=value`. */
export function parsePodNodeSelectors(source: string): ReadonlyMap<string, string> {
  const { podNodeSelectorPluginConfig = {} } = readUnversioned<RawConfiguration>(source, schema)
  const selectors = new Map(Object.entries(podNodeSelectorPluginConfig))
  for (const [name, selector] of selectors) {
    if (selectorLabels(selector) !== undefined) continue
    throw new ConfigurationError(
      `podNodeSelectorPluginConfig[${name}]: invalid selector: ${selector}`,
    )
  }
  return selectors
}
