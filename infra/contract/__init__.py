"""Nothing that programs rely on goes away: today's description of the API is compared with the released one."""
