/** Versions of the API between node agents and device plugins (specification: "Media-type and version compatibility"). */

export interface DevicePluginVersion {
  readonly version: string
  /** Releases of agents whose plugins work with each other; none: agents of no such release take it. */
  readonly releases: { readonly from: string; readonly to: string } | undefined
}

export const devicePluginVersions: readonly DevicePluginVersion[] = [
  { version: 'v1beta1', releases: { from: '1.21', to: '1.26' } },
  { version: 'v1alpha1', releases: undefined },
]

/** What agents take, and name in their refusal of anything else. */
export const supportedDevicePluginVersions: readonly string[] = devicePluginVersions
  .filter(({ releases }) => releases !== undefined)
  .map(({ version }) => version)
