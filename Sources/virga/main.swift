print("virga")
