import { defineConfig } from 'vitest/config'

// Longer than what `cluster.expect` waits for: its error says more than that of a timeout.
export default defineConfig({ test: { testTimeout: 30_000 } })
